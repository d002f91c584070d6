"""What programs need to send their calls through the gateway, and to run alike each time. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from forkpoint.gateway_run import GATEWAY

# Variables that clients read for the address of a provider, and the path below the session that they expect.
ADDRESSES: Final = {
    "OPENAI_BASE_URL": "/openai/v1",
    "OPENAI_API_BASE": "/openai/v1",
    "ANTHROPIC_BASE_URL": "/anthropic",
    "ANTHROPIC_API_URL": "/anthropic",
    "ANTHROPIC_API_BASE": "/anthropic",
    "GOOGLE_GEMINI_BASE_URL": "/gemini",
    "GEMINI_API_BASE": "/gemini",
    "OLLAMA_HOST": "/ollama",
    # Of LiteLLM, and of clients that ask Ollama in the protocol of OpenAI.
    "OLLAMA_API_BASE": "/ollama",
    "OLLAMA_BASE_URL": "/ollama/v1",
}
_SWITCHES: Final = {
    # What these send goes to other hosts than the gateway.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    # Claude Code waits for its MCP servers, so that its first request names their tools in every run.
    "MCP_CONNECTION_NONBLOCKING": "false",
    # The order of sets of strings, which may reach a prompt.
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
}
# Arguments of programs that read no variable. A provider with one protocol keeps Codex from trying WebSockets first.
_ARGUMENTS: Final = {
    "codex": (
        "-c",
        'model_provider="forkpoint"',
        "-c",
        'model_providers.forkpoint={{name="Forkpoint",base_url="{url}/openai/v1",wire_api="responses",'
        'env_key="OPENAI_API_KEY"}}',
    )
}
# `other` is a program that only has the name of one of these.
CLIENTS: Final = (*_ARGUMENTS, "other")
CLIENT_HELP: Final = "Client that COMMAND is, where its name does not tell: it gets arguments of its own."
_RUNNERS: Final = frozenset({"bunx", "dlx", "exec", "node", "npm", "npx", "pnpm", "yarn"})
_VERSION: Final = re.compile(r"(?<=.)@[^/]*$")
_SUFFIX: Final = re.compile(r"\.(cmd|exe|js|mjs)$")


def variables(environment: Mapping[str, str], url: str) -> dict[str, str]:
    """Return what to add to a program's environment for the session at this address. Switches that it has win."""
    switches = {name: value for name, value in _SWITCHES.items() if name not in environment}
    return {**switches, GATEWAY: url, **{name: url + path for name, path in ADDRESSES.items()}}


def command(words: Sequence[str], url: str, client: str = "") -> list[str]:
    """Return a command with the arguments that its client needs: the one that is named, else the one it starts."""
    place = _program(words)
    arguments = _ARGUMENTS.get(client or _name(words[place]), ())
    return [*words[: place + 1], *(argument.format(url=url) for argument in arguments), *words[place + 1 :]]


def _program(words: Sequence[str]) -> int:
    """Return where the program is in a command, which may start with those that run packages."""
    place = 0
    while place + 1 < len(words) and (_name(words[place]) in _RUNNERS or (place and words[place].startswith("-"))):
        place += 1
    return place


def _name(word: str) -> str:
    """Return the name of a program or package without its folder, version and suffix."""
    return _SUFFIX.sub("", re.split(r"[/\\]", _VERSION.sub("", word))[-1])
