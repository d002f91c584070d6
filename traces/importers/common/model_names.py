"""Model names inside the names of runs and configurations."""

import re
from typing import Final

_VERSION = r"[a-z0-9]+(?:[.-][a-z0-9]+)*"
_NAME: Final = re.compile(
    rf"(?<![a-z0-9])(?:gpt-{_VERSION}|chatgpt-{_VERSION}|claude-{_VERSION}|gemini-{_VERSION}|llama-{_VERSION}|"
    rf"mistral-{_VERSION}|qwen-?\d{_VERSION}|deepseek-{_VERSION}|o[134](?:-(?:mini|pro|preview))?(?![a-z0-9]))"
)
_AGENT: Final = re.compile(r"agent[_ -](.*?)(?:[_ -]user|$)")


def find_model_name(name: str) -> str:
    """The one model that `name` names; the agent's, when it names the simulated user's too; else nothing."""
    lowered = name.lower()
    named = set(_NAME.findall(lowered))
    if len(named) > 1 and (part := _AGENT.search(lowered)):
        named = set(_NAME.findall(part[1]))
    return named.pop() if len(named) == 1 else ""
