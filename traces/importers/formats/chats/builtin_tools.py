"""Tools that are built into a provider's API: those that the agent runs itself, and those that the provider runs.

Their schemas have a type, such as `{"type": "local_shell"}`, and not always a name.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list
from traces.core.json_types import JSONValue

# By the type of their schema in OpenAI's responses: the names under which their calls are recorded.
_RUN_BY_AGENT: Final = {
    "local_shell": "local_shell",
    "shell": "shell",
    "computer": "computer",
    "computer_use": "computer",
    "computer_use_preview": "computer",
    "apply_patch": "apply_patch",
}
# Anthropic runs these itself, though they have names. Their types end with a date.
_RUN_BY_ANTHROPIC: Final = ("web_search_", "web_fetch_", "code_execution_", "tool_search_tool_")
_GEMINI_COMPUTER: Final = frozenset({"computerUse", "computer_use"})


def agent_tool_names(schema: JSONValue) -> Iterator[str]:
    """Yield the names of the tools in a schema that the agent runs itself; none for a tool of the provider.

    >>> list(agent_tool_names({"type": "web_search_20250305", "name": "web_search"}))
    []
    >>> list(agent_tool_names({"type": "local_shell"}))
    ['local_shell']
    """
    tool = as_object(schema)
    type, name = as_text(tool.get("type")), as_text(tool.get("name"))
    if type == "namespace" and has_list(tool, "tools"):
        for member in as_list(tool["tools"]):
            yield from agent_tool_names(member)
    elif type in _RUN_BY_AGENT:
        if not is_in_container(tool.get("environment")):
            yield _RUN_BY_AGENT[type]
    elif type == "tool_search" and tool.get("execution") == "client":
        yield "tool_search"
    elif not _GEMINI_COMPUTER.isdisjoint(tool):
        yield "computer"
    elif name and not type.startswith(_RUN_BY_ANTHROPIC):
        yield name


def is_in_container(environment: JSONValue) -> bool:
    """Return whether a shell runs in a container of the provider; a missing environment is taken to be the agent's."""
    return as_text(as_object(environment).get("type")).startswith("container")
