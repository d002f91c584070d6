"""Arguments of a tool call in span attributes."""

from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.otlp.dialects.request_bodies import parse

_ARGUMENTS: Final = ("args", "kwargs")


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolArguments:
    """The arguments of a tool, and the options of the function that called it."""

    value: JSONValue
    other: JSONObject = field(default_factory=dict)


def tool_arguments(value: JSONValue, schema: JSONObject) -> ToolArguments:
    """Unwrap the call of a Python function: `{"args": [], "kwargs": {}}` with the function's own options.

    Positional arguments get the names that the tool's schema states.
    """
    call = as_object(parse(value))
    args, kwargs = call.get("args"), call.get("kwargs")
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return ToolArguments(value=value)
    names = list(as_object(schema.get("properties")) or schema)
    if len(args) > len(names):
        return ToolArguments(value=value)
    options = {name: option for name, option in call.items() if name not in _ARGUMENTS}
    return ToolArguments(value={**dict(zip(names, as_list(args), strict=False)), **kwargs}, other=options)
