"""Arguments and results of tool calls in span attributes, and settings of tools that a model is offered."""

from collections.abc import Iterator
from typing import Final

import msgspec

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.tool_schemas import SCHEMA_NAMES
from traces.importers.files.json_reader import parse_embedded, parse_shared

# What the schema of a tool states, in any API.
_SCHEMA_FIELDS: Final = frozenset({"type", "function", "name", "description", *SCHEMA_NAMES})
_ARGUMENTS: Final = ("args", "kwargs")
_RESULT_FIELDS: Final = frozenset({"content", "tool_call_id", "type"})


class ToolArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a tool, the id of the call, and the options of the function that called it."""

    value: JSONValue
    call_id: str = ""
    other: JSONObject = msgspec.field(default_factory=dict)


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool, and what else its message contains, such as the id of the call."""

    value: JSONValue
    call_id: str = ""
    other: JSONObject = msgspec.field(default_factory=dict)


def tool_arguments(value: JSONValue, schema: JSONObject) -> ToolArguments:
    """Unwrap the call of a Python function: `{"args": [], "kwargs": {}}` with the function's own options.

    Positional arguments get the names that the tool's schema states.
    """
    call = as_object(parse_shared(value))
    if "input_str" in call:
        return _langchain_arguments(call)
    args, kwargs = call.get("args"), call.get("kwargs")
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return ToolArguments(value=value)
    names = list(as_object(schema.get("properties")) or schema)
    if len(args) > len(names):
        return ToolArguments(value=value)
    options: JSONObject = {name: option for name, option in call.items() if name not in _ARGUMENTS}
    return ToolArguments(value={**dict(zip(names, as_list(args), strict=False)), **kwargs}, other=options)


def tool_result(value: JSONValue) -> ToolResult:
    """Unwrap the message of LangChain that contains a tool's result, also inside Traceloop's `{"output", "kwargs"}`."""
    if isinstance(value, str) and '"kwargs"' not in value and '"data"' not in value:
        return ToolResult(value=value)
    body = as_object(parse_embedded(value))
    is_wrapped = body.keys() == {"output", "kwargs"}
    result = body["output"] if is_wrapped else parse_embedded(value)
    message = as_object(result)
    fields = as_object(message.get("kwargs") if message.get("lc") == 1 else message.get("data"))
    if fields.get("type") == "tool" and "content" in fields:
        other: JSONObject = {name: item for name, item in fields.items() if item and name not in _RESULT_FIELDS}
        return ToolResult(value=fields["content"], call_id=as_text(fields.get("tool_call_id")), other=other)
    return ToolResult(value=result if is_wrapped else value)


def _langchain_arguments(call: JSONObject) -> ToolArguments:
    """Read how Traceloop records that LangChain called a tool: the arguments beside facts of the run."""
    arguments = call["input_str"] if call.get("inputs") is None else call["inputs"]
    call_id = as_text(as_object(call.get("kwargs")).get("tool_call_id"))
    other: JSONObject = {name: item for name, item in call.items() if name != "inputs"}
    return ToolArguments(value=arguments, call_id=call_id, other=other)


def tool_settings(tools: list[JSONValue]) -> JSONObject:
    """Return the settings of tools that are no part of their schemas, such as `strict`, by name."""
    settings: JSONObject = {}
    for tool in _declarations(tools):
        fields = {**tool, **as_object(tool.get("function"))}
        options: JSONObject = {
            name: value for name, value in fields.items() if value is not None and name not in _SCHEMA_FIELDS
        }
        if options:
            settings[as_text(fields.get("name"))] = options
    return settings


def _declarations(tools: list[JSONValue]) -> Iterator[JSONObject]:
    """Yield tools, also those that Gemini groups."""
    for tool in map(as_object, map(parse_embedded, tools)):
        group = first_member(tool, "functionDeclarations", "function_declarations")
        yield from [tool] if group is None else map(as_object, as_list(group))
