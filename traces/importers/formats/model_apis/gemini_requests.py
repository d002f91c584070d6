"""Requests of Gemini's own API with the names and places that other APIs have. Pure."""

from typing import Final

from traces.core.json_access import as_list, as_object, first_member
from traces.core.json_types import JSONObject, JSONValue

_FIELDS: Final = {"systemInstruction": "system", "toolConfig": "tool_choice"}


def flatten_request(body: JSONObject) -> JSONObject:
    """Give the fields of a request the places and names that other APIs have."""
    parameters = dict(as_object(body.get("generationConfig")))
    if (schema := first_member(parameters, "responseJsonSchema", "responseSchema")) is not None:
        parameters["response_format"] = schema
    parameters = {
        key: value for key, value in parameters.items() if key not in {"responseJsonSchema", "responseSchema"}
    }
    fields: JSONObject = {_FIELDS.get(key, key): value for key, value in body.items() if key != "generationConfig"}
    fields["tools"] = [_tool(tool) for tool in as_list(body.get("tools"))]
    contents = fields.get("contents")
    if not isinstance(contents, list):
        fields["contents"] = [contents]
    return {**fields, **parameters}


def _tool(tool: JSONValue) -> JSONValue:
    """Give the schemas of declared functions their common name."""
    declarations = as_object(tool).get("functionDeclarations")
    if not isinstance(declarations, list):
        return tool
    return {"functionDeclarations": [_function(as_object(declaration)) for declaration in declarations]}


def _function(declaration: JSONObject) -> JSONObject:
    schema = first_member(declaration, "parameters", "parametersJsonSchema", "parameters_json_schema")
    return {**declaration, "parameters": schema}
