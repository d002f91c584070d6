"""Schemas of tools in one form, from those of any client."""

from typing import Final

from traces.core.json_access import as_object, first_member, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

# Where the schema of a tool's arguments is, in any API.
_INPUT_SCHEMAS: Final = ("input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")
SCHEMA_NAMES: Final = ("parameters", "json_schema", *_INPUT_SCHEMAS)


def normalize_tools(value: JSONValue) -> list[JSONValue]:
    """Convert tool schemas to `{name, description?, parameters?}`."""
    value = parse_embedded(value)
    tools: list[JSONValue] = []
    for item in list_or_single(value):
        tool = as_object(parse_embedded(item))
        declarations = first_member(tool, "functionDeclarations", "function_declarations")
        tools += normalize_tools(declarations) if declarations is not None else [_normalize_tool(tool)] if tool else []
    return tools


def _normalize_tool(tool: JSONObject) -> JSONObject:
    function = as_object(first_member(tool, "function", "custom", "toolSpec")) or tool
    if "name" not in function:
        # A tool built into the provider's API has a type only.
        return tool
    parameters = parse_embedded(first_member(function, *SCHEMA_NAMES))
    if isinstance(parameters, dict) and parameters.keys() == {"json"}:
        # Bedrock.
        parameters = parameters["json"]
    optional = {"description": function.get("description"), "parameters": parameters}
    schema: JSONObject = {"name": function["name"], **{key: item for key, item in optional.items() if item}}
    return schema if parameters is not None or "type" not in tool or tool["type"] == "function" else tool | schema
