"""Arguments of a tool call in span attributes, and settings of tools that a model is offered."""

from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

# What the schema of a tool states, in any API.
_SCHEMA_FIELDS: Final = frozenset(
    {"type", "function", "name", "description", "parameters", "input_schema", "inputSchema", "json_schema"}
    | {"functionDeclarations", "function_declarations"}
)
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
    call = as_object(parse_embedded(value))
    args, kwargs = call.get("args"), call.get("kwargs")
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return ToolArguments(value=value)
    names = list(as_object(schema.get("properties")) or schema)
    if len(args) > len(names):
        return ToolArguments(value=value)
    options = {name: option for name, option in call.items() if name not in _ARGUMENTS}
    return ToolArguments(value={**dict(zip(names, as_list(args), strict=False)), **kwargs}, other=options)


def tool_settings(tools: list[JSONValue]) -> JSONObject:
    """Return the settings of tools that are no part of their schemas, such as `strict`, by name."""
    settings: JSONObject = {}
    for tool in map(as_object, map(parse_embedded, tools)):
        fields = {**tool, **as_object(tool.get("function"))}
        options: JSONObject = {
            name: value for name, value in fields.items() if value is not None and name not in _SCHEMA_FIELDS
        }
        if options:
            settings[as_text(fields.get("name"))] = options
    return settings
