"""Real agents of the frameworks, none of which knows of Forkpoint, and the commands that start them."""

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from tests.clients import environments
from tests.clients.javascript import environments as node
from tests.support.command_line import COMMAND

_CLIENTS: Final = Path(environments.__file__).parent


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent: how to start it, and what of its work Forkpoint sees."""

    name: str
    command: Callable[[], list[str]]
    # Whether the SDK knows the agent's tools, so that they are answered and not run again.
    has_known_tools: bool = True
    # Whether it records the framework's agents, which contain the model calls.
    has_agent_steps: bool = False
    # Whether it knows the names of their parameters.
    has_known_parameters: bool = True
    # Whether it gives a model the results of its calls in the order of these.
    has_ordered_results: bool = True
    # What the framework puts before the name of a function.
    tool_prefix: str = ""

    def tool(self, name: str) -> str:
        """Return the name by which the model knows a function."""
        return self.tool_prefix + name


def _python(environment: str, agent: str, *arguments: str) -> Callable[[], list[str]]:
    def command() -> list[str]:
        return [str(environments.environment(environment)), str(_CLIENTS / "agents" / f"{agent}.py"), *arguments]

    return command


def _here(agent: str, *arguments: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, str(_CLIENTS / "agents" / f"{agent}.py"), *arguments]


def _node(environment: str, agent: str) -> Callable[[], list[str]]:
    def command() -> list[str]:
        folder = node.environment(environment)
        # Node looks for packages beside the file.
        for script in ("desk", agent):
            shutil.copy(_CLIENTS / "javascript/agents" / f"{script}.mjs", folder)
        return [_node_program(), str(folder / f"{agent}.mjs")]

    return command


def _claude_code() -> list[str]:
    """Return Claude Code with the desk as an MCP server, which it starts behind the shim."""
    folder = node.environment("claude-code-2")
    program = next(folder.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    desk = [str(environments.environment("mcp-2")), str(_CLIENTS / "agents/mcp_desk.py")]
    shim = [*COMMAND, "mcp-shim", "--name", "desk", "--", *desk]
    servers = {"mcpServers": {"desk": {"command": shim[0], "args": shim[1:]}}}
    # A slow machine starts the server late. Requests contain the session's id and the tools' names.
    variables = {
        "CLAUDE_CONFIG_DIR": str(folder / "configuration"),
        "ENABLE_TOOL_SEARCH": "false",
        "MCP_CONNECT_TIMEOUT_MS": "60000",
    }
    identity = ["--no-session-persistence", "--session-id", str(uuid5(NAMESPACE_URL, "desk"))]
    options = ["--strict-mcp-config", "--mcp-config", json.dumps(servers), "--allowedTools", "mcp__desk"]
    words = [str(program), "-p", "Weather and time in Zürich?", *identity, *options]
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *words]


@functools.cache
def _node_program() -> str:
    """Return the program itself: signals to the command that starts it would not reach it."""
    command = [str(node.WITH_NODE), "node", "--print", "process.execPath"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


# Agents that need no framework; `make test` runs these.
LIGHT: Final = (
    Agent(name="HTTP loop", command=_here("http_loop"), has_known_tools=False),
    Agent(name="Node, openai", command=_node("openai-6", "openai_loop"), has_known_tools=False),
)
FRAMEWORKS: Final = (
    Agent(name="OpenAI Agents SDK", command=_python("agents-0.24", "agents_agent", "stream")),
    Agent(
        name="LangGraph", command=_python("langchain-1.5", "langchain_agent", "sync", "anthropic"), has_agent_steps=True
    ),
    Agent(
        name="LangChain, Ollama",
        command=_python("langchain-1.5", "langchain_agent", "sync", "ollama"),
        has_agent_steps=True,
    ),
    Agent(name="pydantic-ai", command=_python("pydantic-ai-2.68", "pydantic_agent", "sync"), has_agent_steps=True),
    Agent(name="smolagents", command=_python("smolagents-1.26", "smolagents_agent", "sync"), has_agent_steps=True),
    Agent(name="CrewAI", command=_python("crewai-1.15.30", "crewai_agent", "sync"), has_agent_steps=True),
    Agent(name="AutoGen", command=_python("autogen-0.7", "autogen_agent", "sync")),
    Agent(name="google-genai", command=_python("genai-3", "genai_agent", "sync")),
    Agent(
        name="LiteLLM", command=_python("litellm-1.106", "litellm_agent", "async", "gpt-4o-mini"), has_known_tools=False
    ),
    Agent(name="Google ADK", command=_python("adk-2.13", "adk_agent")),
    Agent(
        name="LlamaIndex",
        command=_python("llama-index-0.14.25", "llama_index_agent", "stream"),
        has_ordered_results=False,
    ),
    Agent(name="Strands Agents", command=_python("strands-1.62", "strands_agent")),
    Agent(name="Agno", command=_python("agno-3.1.10", "agno_agent", "stream")),
    Agent(
        name="Semantic Kernel",
        command=_python("semantic-kernel-1.45", "semantic_kernel_agent"),
        tool_prefix="desk-",
        has_ordered_results=False,
    ),
    Agent(name="Microsoft Agent Framework", command=_python("agent-framework-1.23", "agent_framework_agent")),
    Agent(name="Haystack", command=_python("haystack-3.4", "haystack_agent")),
    Agent(name="Mirascope", command=_python("mirascope-2.8.2", "mirascope_agent")),
    Agent(name="Anthropic's tool runner", command=_python("anthropic-2", "anthropic_runner_agent", "async stream")),
    Agent(name="Claude Code", command=_claude_code, has_known_parameters=False),
)
AGENTS: Final = (*LIGHT, *FRAMEWORKS)
# They get one tool at a time, so their calls are others than those of all agents above.
TEXT_TOOLS: Final = (
    Agent(name="CrewAI without tool calls", command=_python("crewai-1.15.30", "crewai_agent", "text")),
    Agent(name="DSPy", command=_python("dspy-3.4", "dspy_agent")),
)
