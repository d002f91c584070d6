"""Configured tools: the operator's entries, and callables that installed packages offer."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from replay.live.operator_entries import parse_entry
from replay.live.tools.types import Tool, ToolEntry

GROUP: Final = "forkpoint.tools"


def configured_tools() -> dict[str, Tool]:
    """Return the tools by name; raises `ImproperlyConfigured` that names the entry and the fix."""
    package_tools = {name: Tool(name=name, entry=ToolEntry(python=name)) for name in callables()}
    return {**package_tools, **{name: _tool(name, entry) for name, entry in settings.TOOLS.items()}}


def executors() -> dict[str, str]:
    """Describe what runs each tool."""
    return {name: tool.place for name, tool in configured_tools().items()}


@cache
def callables() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages, which are loaded at their first call."""
    return {point.name: point for point in entry_points(group=GROUP)}


def _tool(name: str, value: object) -> Tool:
    location = f"FORKPOINT_TOOLS.{name}"
    entry = parse_entry(ToolEntry, location, value)
    if entry.python is not None and entry.python not in callables():
        detail = f"no installed package offers it in the entry point group `{GROUP}`"
        raise ImproperlyConfigured(f"{location}.python is “{entry.python}”: {detail}.")
    return Tool(name=name, entry=entry)
