"""Gemini's own protocol: requests from canonical model inputs, canonical outputs from its streams."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from forkpoint.capture.assembly import assemble_content
from replay.live.providers import request_path
from replay.live.providers.call_ids import result_names
from replay.live.providers.json_streams import JsonAssembly
from replay.live.providers.types import ModelCall, Provider
from traces.core.json_access import as_object, as_objects, as_string, as_text, member
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
    "mediaResolution": "mediaResolution",
    "speechConfig": "speechConfig",
    "imageConfig": "imageConfig",
}
# Beside the settings.
_OWN_MEMBERS: Final = ("safetySettings", "cachedContent")
_CONVERTED_PARAMETERS: Final = frozenset({"stop", "tool_choice"})
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
# From version 3 on, Gemini refuses calls without its signature, and accepts this one for calls that it did not sign.
# Those of recorded answers are not sent: they are valid for the same model only, and not for changed messages.
_SIGNING_MODELS: Final = re.compile(r"(models/)?gemini-([3-9]|\d\d)")
_NO_SIGNATURE: Final = "skip_thought_signature_validator"
_DATA_URL: Final = re.compile(r"data:(?P<media>[\w.+/-]+);base64,(?P<data>.*)", re.DOTALL)


def request(call: ModelCall) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body of the call, and the names of parameters that it cannot express. The model is in the address."""
    messages = as_objects(call.input.get("messages"))
    parameters = as_object(call.input.get("parameters"))
    system = [part for message in messages if _is_system(message) for part in _parts(message.get("content"))]
    fields: dict[str, Any] = {
        "systemInstruction": {"parts": system} if system else None,
        "contents": _contents([message for message in messages if not _is_system(message)]),
        "tools": _tools(as_objects(call.input.get("tools"))),
        "toolConfig": _tool_config(parameters.get("tool_choice")),
        "generationConfig": _generation_config(parameters, call.input.get("response_format")),
        **{name: parameters.get(name) for name in _OWN_MEMBERS},
    }
    if _SIGNING_MODELS.match(call.model):
        _mark_unsigned(fields["contents"])
    known_names = {*_SETTINGS, *_CONVERTED_PARAMETERS, *_OWN_MEMBERS}
    return {name: value for name, value in fields.items() if value}, tuple(
        name for name in parameters if name not in known_names
    )


def address(provider: Provider, call: ModelCall) -> str:
    path = request_path("gemini", call).replace(":generateContent", ":streamGenerateContent")
    return f"{provider.base_url}{path}?alt=sse"


def pieces(body: JSONObject) -> list[JSONObject]:
    """Return a whole answer as one chunk of a stream; empty if it is none."""
    return [body] if body.get("candidates") or body.get("promptFeedback") else []


class Assembly(JsonAssembly):
    """Assembles the answer from the chunks of a stream."""

    api = "google.generate_content"

    def join(self, events: list[Any]) -> JSONValue:
        return assemble_content(events)

    def text_of(self, event: JSONObject) -> str:
        parts = [part for candidate in _candidates(event) for part in as_objects(member(candidate, "content", "parts"))]
        return "".join(as_string(part.get("text")) for part in parts if part.get("thought") is not True)

    def is_end(self, event: JSONObject) -> bool:
        # A prompt that is blocked gets no candidate.
        is_blocked = bool(member(event, "promptFeedback", "blockReason"))
        return is_blocked or any(candidate.get("finishReason") for candidate in _candidates(event))


def _candidates(event: JSONObject) -> list[JSONObject]:
    return as_objects(event.get("candidates"))[:1]


def _mark_unsigned(contents: list[JSONValue]) -> None:
    """Mark the first call of each content, which has the signature of all."""
    for content in as_objects(contents):
        calls = (part for part in as_objects(content.get("parts")) if "functionCall" in part)
        if (first_call := next(calls, None)) is not None:
            first_call["thoughtSignature"] = _NO_SIGNATURE


def _is_system(message: JSONObject) -> bool:
    return message.get("role") in ("system", "developer")


def _contents(messages: Sequence[JSONObject]) -> list[JSONValue]:
    """Convert messages; adjacent ones of a role become one, since results of parallel calls belong together."""
    turns: list[tuple[str, list[JSONValue]]] = []
    for message, name in zip(messages, result_names(messages), strict=True):
        role = "model" if message.get("role") == "assistant" else "user"
        parts = list(_message_parts(message, name))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        elif parts:
            turns.append((role, parts))
    return [{"role": role, "parts": parts} for role, parts in turns]


def _message_parts(message: JSONObject, name: str) -> Iterator[JSONValue]:
    if message.get("role") in ("tool", "function"):
        result: JSONObject = {"name": name, "response": _result(message.get("content"))}
        yield {"functionResponse": {**_id(message.get("tool_call_id")), **result}}
        return
    yield from _parts(message.get("content"))
    for call in as_objects(message.get("tool_calls")):
        function: JSONObject = {"name": call.get("name", ""), "args": as_object(call.get("arguments"))}
        yield {"functionCall": {**_id(call.get("id")), **function}}


def _id(id: JSONValue) -> JSONObject:
    """Return the id of a call, which only some versions of the API have."""
    return {"id": id} if as_text(id) else {}


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


def _tools(tools: Sequence[JSONObject]) -> list[JSONValue]:
    """Return the functions together; a tool that is built into the API is an entry of its own."""
    functions: list[JSONValue] = [_function(tool) for tool in tools if "name" in tool]
    declarations: list[JSONValue] = [{"functionDeclarations": functions}] if functions else []
    return [*declarations, *(tool for tool in tools if "name" not in tool)]


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
