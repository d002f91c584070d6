"""Gemini API: bodies of requests from canonical model inputs. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import orjson

from traces.core.json_access import as_object, as_objects, member
from traces.core.json_types import JSONObject, JSONValue

_SETTINGS: Final = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "n": "candidateCount",
    "thinkingConfig": "thinkingConfig",
    "responseMimeType": "responseMimeType",
    "responseModalities": "responseModalities",
}
_CONVERTED_PARAMETERS: Final = frozenset({"stop", "tool_choice"})
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_DATA_URL: Final = re.compile(r"data:(?P<media>[\w.+/-]+);base64,(?P<data>.*)", re.DOTALL)


def body(request: Mapping[str, JSONValue]) -> tuple[JSONObject, tuple[str, ...]]:
    """Return the body, and the names of the parameters that the API does not have."""
    messages = as_objects(request.get("messages"))
    parameters = as_object(request.get("parameters"))
    system = [part for message in messages if _is_system(message) for part in _parts(message.get("content"))]
    tools: list[JSONValue] = [_function(tool) for tool in as_objects(request.get("tools"))]
    fields: JSONObject = {
        "systemInstruction": {"parts": system} if system else None,
        "contents": _contents([message for message in messages if not _is_system(message)]),
        "tools": [{"functionDeclarations": tools}] if tools else None,
        "toolConfig": _tool_config(parameters.get("tool_choice")),
        "generationConfig": _generation_config(parameters, request.get("response_format")),
    }
    left_out = tuple(name for name in parameters if name not in _SETTINGS and name not in _CONVERTED_PARAMETERS)
    return {name: value for name, value in fields.items() if value}, left_out


def _is_system(message: JSONObject) -> bool:
    return message.get("role") in ("system", "developer")


def _contents(messages: Sequence[JSONObject]) -> list[JSONValue]:
    """Convert messages; adjacent ones of a role become one, since results of parallel calls belong together."""
    names = {
        str(call.get("id")): call.get("name", "")
        for message in messages
        for call in as_objects(message.get("tool_calls"))
    }
    turns: list[tuple[str, list[JSONValue]]] = []
    for message in messages:
        role = "model" if message.get("role") == "assistant" else "user"
        parts = list(_message_parts(message, names))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        elif parts:
            turns.append((role, parts))
    return [{"role": role, "parts": parts} for role, parts in turns]


def _message_parts(message: JSONObject, names: Mapping[str, JSONValue]) -> Iterator[JSONValue]:
    if message.get("role") in ("tool", "function"):
        name = message.get("name") or names.get(str(message.get("tool_call_id")), "")
        yield {"functionResponse": {"name": name, "response": _result(message.get("content"))}}
        return
    yield from _parts(message.get("content"))
    for call in as_objects(message.get("tool_calls")):
        yield {"functionCall": {"name": call.get("name", ""), "args": as_object(call.get("arguments"))}}


def _parts(content: JSONValue) -> Iterator[JSONValue]:
    if isinstance(content, str) and content:
        yield {"text": content}
    for block in as_objects(content):
        if block.get("type") != "thinking":
            yield _part(block)


def _part(block: JSONObject) -> JSONValue:
    if block.get("type") == "text":
        return {"text": block.get("text", "")}
    image = block.get("image_url")
    url = as_object(image).get("url", image)
    if block.get("type") != "image_url" or not isinstance(url, str):
        return block
    inline = _DATA_URL.fullmatch(url)
    if inline is None:
        return {"fileData": {"fileUri": url}}
    return {"inlineData": {"mimeType": inline["media"], "data": inline["data"]}}


def _result(content: JSONValue) -> JSONObject:
    """Return a tool's result as the object that the API requires."""
    value = content
    if isinstance(content, str):
        try:
            value = orjson.loads(content)
        except ValueError:
            value = content
    return value if isinstance(value, dict) else {"result": value}


def _function(tool: JSONObject) -> JSONObject:
    schema = as_object(tool.get("parameters"))
    # The API has a schema language of its own, with types in capitals, beside JSON Schema.
    field = "parameters" if str(schema.get("type", "")).isupper() else "parametersJsonSchema"
    fields: JSONObject = {"name": tool.get("name", ""), "description": tool.get("description"), field: schema}
    return {name: value for name, value in fields.items() if value}


def _tool_config(choice: JSONValue) -> JSONValue:
    if isinstance(choice, str):
        return {"functionCallingConfig": {"mode": _MODES.get(choice, choice.upper())}}
    name = member(choice, "function", "name")
    return {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}} if name else choice


def _generation_config(parameters: JSONObject, response_format: JSONValue) -> JSONObject:
    stop = parameters.get("stop")
    schema = member(response_format, "json_schema", "schema") or response_format
    is_json = schema is not None and member(response_format, "type") != "text"
    fields: JSONObject = {
        **{_SETTINGS[name]: value for name, value in parameters.items() if name in _SETTINGS},
        "stopSequences": [stop] if isinstance(stop, str) else stop,
    }
    if is_json:
        fields["responseMimeType"] = "application/json"
        fields["responseJsonSchema"] = None if member(schema, "type") == "json_object" else schema
    return {name: value for name, value in fields.items() if value is not None}
