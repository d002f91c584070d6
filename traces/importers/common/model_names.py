"""Model names inside the names of runs and configurations."""

import re
from typing import Final

_VERSION = r"[a-z0-9]+(?:[.-][a-z0-9]+)*"
_NAME: Final = re.compile(
    rf"(?<![a-z0-9])(?:gpt-{_VERSION}|chatgpt-{_VERSION}|claude-{_VERSION}|gemini-{_VERSION}|llama-{_VERSION}|"
    rf"mistral-{_VERSION}|qwen-?\d{_VERSION}|deepseek-{_VERSION}|o[134](?:-(?:mini|pro|preview))?(?![a-z0-9]))"
)
_AGENT: Final = re.compile(r"agent[_ -](.*?)(?:[_ -]user|\Z)", re.S)


def find_model_name(name: str) -> str:
    """Return the only model in `name`, or the agent's if it also names the simulated user's; else ""."""
    lowercase_name = name.lower()
    matches = set(_NAME.findall(lowercase_name))
    if len(matches) > 1 and (part := _AGENT.search(lowercase_name)):
        matches = set(_NAME.findall(part[1]))
    return matches.pop() if len(matches) == 1 else ""
