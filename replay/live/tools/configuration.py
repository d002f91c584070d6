"""Which tools can run: those that the operator configured, and callables that installed packages offer."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import pydantic
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from replay.live.tools.types import Tool, ToolEntry

GROUP: Final = "forkpoint.tools"


def configured_tools() -> dict[str, Tool]:
    """The tools by name; raises `ImproperlyConfigured` naming the entry and the fix."""
    offered = {name: Tool(name=name, entry=ToolEntry(python=name)) for name in callables()}
    return {**offered, **{name: _tool(name, entry) for name, entry in settings.TOOLS.items()}}


def executors() -> dict[str, str]:
    """What runs each tool, in words."""
    return {name: tool.place for name, tool in configured_tools().items()}


@cache
def callables() -> dict[str, EntryPoint]:
    """The entry points of installed packages; they are loaded when they are called."""
    return {point.name: point for point in entry_points(group=GROUP)}


def _tool(name: str, given: object) -> Tool:
    where = f"FORKPOINT_TOOLS[{name!r}]"
    try:
        entry = ToolEntry.model_validate(given)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])
        raise ImproperlyConfigured(f"{where}{place}: {first['msg']}.") from error
    if entry.python is not None and entry.python not in callables():
        detail = f"no installed package offers it in the entry point group {GROUP!r}"
        raise ImproperlyConfigured(f"{where}['python'] names {entry.python!r}: {detail}.")
    return Tool(name=name, entry=entry)
