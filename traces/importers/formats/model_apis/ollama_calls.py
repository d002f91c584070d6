"""Calls of Ollama's own API in the form that other APIs have. Pure.

/api/chat      {"model", "messages": [{"role", "content", "images", "thinking", "tool_calls", "tool_name"}],
                "options": {"temperature", "num_predict", …}, "format": "json" or a schema, "think", "keep_alive"}
/api/generate  {"model", "prompt", "system", "images", "options", "format", …}
"""

from typing import Final

from traces.core.json_access import as_integer, as_list, as_object, as_string, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.streams.joined_answers import join_answer

PREFIX: Final = "ollama."
# Of an answer: what a step has no columns for.
_TIMES: Final = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
# How the data of an image begins in base64, by its type. Ollama's API does not state the type.
_IMAGE_HEADS: Final = {"/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
_JSON_FORMAT: Final[JSONObject] = {"type": "json_object"}


def flatten_request(body: JSONObject) -> JSONObject:
    """Give the fields of a request the places and names that other APIs have."""
    options = dict(as_object(body.get("options")))
    # A negative limit is none.
    if (as_integer(options.get("num_predict")) or 0) > 0:
        options["max_tokens"] = options.pop("num_predict")
    fields: JSONObject = {**omit(body, "options", "format", "messages", "prompt", "images"), **options}
    if body.get("format"):
        fields["response_format"] = _response_format(body["format"])
    if "messages" in body:
        fields["messages"] = [_message(as_object(message)) for message in as_list(body["messages"])]
    elif body.get("prompt") or body.get("images"):
        prompt: JSONObject = {"role": "user", "content": body.get("prompt"), "images": body.get("images")}
        fields["messages"] = [_message(prompt)]
    return fields


def whole_answer(response: JSONValue) -> JSONValue:
    """Return an answer as a chat completion; anything else as it is."""
    body = as_object(response)
    return join_answer("ollama", [body]) if body.keys() & {"message", "response"} else response


def times(response: JSONObject) -> JSONObject:
    """Return the durations that an answer states, in nanoseconds."""
    return {name: response[name] for name in _TIMES if name in response}


def _response_format(format: JSONValue) -> JSONValue:
    if not isinstance(format, dict):
        return _JSON_FORMAT if format == "json" else format
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": format}}


def _message(message: JSONObject) -> JSONObject:
    fields = {name: value for name, value in omit(message, "images", "thinking", "tool_name").items() if value != []}
    if message.get("tool_name"):
        fields["name"] = message["tool_name"]
    if message.get("thinking"):
        fields["reasoning_content"] = message["thinking"]
    if images := as_list(message.get("images")):
        text = as_string(message.get("content"))
        blocks: list[JSONValue] = [{"type": "text", "text": text}] if text else []
        fields["content"] = [*blocks, *map(_image, images)]
    return fields


def _image(data: JSONValue) -> JSONValue:
    text = as_string(data)
    media = next((media for head, media in _IMAGE_HEADS.items() if text.startswith(head)), "image/png")
    return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{text}"}}
