"""Requests of an agent in the protocol of another provider, and that provider's answers. Pure.

What the other protocol cannot express is refused: an agent whose request says less than it meant would be another one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import orjson

from replay.live.providers import request_body
from replay.live.providers.types import ModelCall, Protocol
from traces.core.json_access import as_list, as_object, as_objects, as_text, member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import Answer
from traces.importers.formats.tracing.client_calls import model_answer

_APIS: Final[Mapping[Protocol, str]] = {
    "openai": "openai.chat",
    "anthropic": "anthropic.messages",
    "gemini": "google.generate_content",
    "ollama": "ollama.chat",
}
# What only the agent's own provider understands, by the member of the request.
_OWN_MEMBERS: Final = {
    "cache_control": "marks of its cache (cache_control)",
    "encrypted_content": "encrypted reasoning (encrypted_content)",
    "thoughtSignature": "encrypted reasoning (thoughtSignature)",
    "signature": "signed reasoning (signature)",
    "previous_response_id": "a conversation that it stores (previous_response_id)",
    "conversation": "a conversation that it stores (conversation)",
    "thread": "a conversation that it stores (thread)",
    "cachedContent": "content that it stores (cachedContent)",
    "mcp_servers": "MCP servers that it asks (mcp_servers)",
    "container": "a container that it runs (container)",
}
# Members with data of tools and their schemas, in which any name may occur.
_DATA: Final = frozenset(
    {"arguments", "args", "response", "metadata", "input_schema", "parameters", "parametersJsonSchema", "schema"}
)
_FUNCTION: Final = frozenset({"name", "description", "parameters", "strict"})
_PARTS: Final = frozenset({"text", "image_url"})
# They say what holds without them.
_DEFAULTS: Final[JSONObject] = {
    "n": 1,
    "candidateCount": 1,
    "parallel_tool_calls": True,
    "logprobs": False,
    "truncation": "disabled",
}
_CHOICES: Final = {"any": "required", "ANY": "required", "AUTO": "auto", "NONE": "none"}


class CannotTranslate(Exception):
    """A request that another protocol cannot express, or an answer that the agent's cannot."""


def translate_request(body: JSONObject, call: ModelCall, protocol: Protocol) -> JSONObject:
    """Return the request of a call for a provider that speaks `protocol`; raise `CannotTranslate`.

    `body` is the request as the agent wrote it. What is stored as a step's input lacks some of it.
    """
    if problem := next(_own_members(body), "") or input_problem(call.input):
        raise CannotTranslate(f"another protocol cannot express {problem}")
    neutral_call = replace(call, input=_neutral(call.input))
    new_body, missing_names = request_body(protocol, neutral_call)
    if missing_names:
        raise CannotTranslate(f"the protocol of {protocol} cannot express the settings {', '.join(missing_names)}")
    return new_body


def input_problem(input: JSONObject) -> str:
    """Return what in the input of a step no other protocol can express; empty if all can be."""
    for tool in as_objects(input.get("tools")):
        if not as_text(tool.get("name")) or not tool.keys() <= _FUNCTION:
            name = as_text(tool.get("type")) or as_text(tool.get("name")) or next(iter(tool), "")
            return f"the tool {name}, which is no function of the agent"
    for message in as_objects(input.get("messages")):
        for part in as_list(message.get("content")) if isinstance(message.get("content"), list) else ():
            fields = _as_image(as_object(part))
            kind = as_text(fields.get("type")) or next(iter(fields), "")
            if kind not in _PARTS or (kind != "text" and message.get("role") == "tool"):
                return f"content of the kind {kind}"
    return ""


def _as_image(part: JSONObject) -> JSONObject:
    """Return an image in the form of chat completions; any other part as it is."""
    source, data = as_object(part.get("source")), as_object(part.get("inlineData"))
    url = as_text(source.get("url")) if part.get("type") == "image" else ""
    if part.get("type") == "image" and source.get("type") == "base64":
        url = f"data:{as_text(source.get('media_type'))};base64,{as_text(source.get('data'))}"
    elif part.get("type") == "input_image":
        url = as_text(part.get("image_url"))
    elif as_text(data.get("mimeType")).startswith("image/"):
        url = f"data:{as_text(data['mimeType'])};base64,{as_text(data.get('data'))}"
    detail: JSONObject = {"detail": part["detail"]} if part.get("detail") else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}} if url else part


def read_answer(protocol: Protocol, body: bytes) -> Answer:
    """Return the answer of a provider that speaks `protocol`; raise `CannotTranslate`."""
    try:
        response = as_object(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise CannotTranslate(f"the provider's answer is not JSON: {error}") from error
    answer = model_answer({"api": _APIS[protocol], "response": response})
    if not as_object(as_object(answer.output).get("message")):
        raise CannotTranslate("the provider's answer contains no message")
    return answer


def _own_members(value: JSONValue) -> Iterator[str]:
    """Yield what in a request only the agent's own provider understands; not in the data of its tools."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name in _OWN_MEMBERS and item not in (None, ""):
                yield _OWN_MEMBERS[name]
            elif name not in _DATA and not (name == "input" and value.get("type") == "tool_use"):
                yield from _own_members(item)
    elif isinstance(value, list):
        for item in value:
            yield from _own_members(item)


def _neutral(input: JSONObject) -> JSONObject:
    """Return the input of a step as that of a chat completion, which the protocols are translated from."""
    parameters: JSONObject = {
        name: value
        for name, value in as_object(input.get("parameters")).items()
        if value is not None and _DEFAULTS.get(name) != value
    }
    if "stop_sequences" in parameters:
        parameters["stop"] = parameters.pop("stop_sequences")
    if "tool_choice" in parameters:
        parameters["tool_choice"] = _tool_choice(parameters["tool_choice"])
    effort = as_object(parameters.get("reasoning"))
    if effort.keys() == {"effort"}:
        del parameters["reasoning"]
        parameters["reasoning_effort"] = effort["effort"]
    result: JSONObject = {
        **input,
        "parameters": parameters,
        "messages": [*map(_with_images, as_objects(input.get("messages")))],
    }
    format = as_object(input.get("response_format"))
    if format.get("type") == "text":
        del result["response_format"]
    elif "schema" in format:
        schema = {name: item for name, item in format.items() if name != "type"}
        result["response_format"] = {"type": "json_schema", "json_schema": schema}
    return result


def _tool_choice(choice: JSONValue) -> JSONValue:
    """Return which tool a model is to call, as chat completions say it; raise `CannotTranslate`."""
    if isinstance(choice, str):
        return choice
    fields = as_object(choice)
    if "functionCallingConfig" in fields:
        config = as_object(fields["functionCallingConfig"])
        names = as_list(config.get("allowedFunctionNames"))
        if len(names) == 1:
            return {"type": "function", "function": {"name": names[0]}}
        mode = _CHOICES.get(as_text(config.get("mode")))
        if names or mode is None:
            raise CannotTranslate("another protocol cannot express this toolConfig")
        return mode
    name = member(choice, "function", "name") or fields.get("name")
    if name:
        return {"type": "function", "function": {"name": name}}
    if fields.keys() != {"type"}:
        raise CannotTranslate("another protocol cannot express this tool_choice")
    kind = as_text(fields["type"])
    return _CHOICES.get(kind, kind)


def _with_images(message: JSONObject) -> JSONObject:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_as_image(part) if isinstance(part, dict) else part for part in content]}
