"""Ollama's own protocol: requests from canonical model inputs, canonical outputs from its lines of JSON."""

import re
from collections.abc import Sequence
from typing import Any, Final

from forkpoint.capture.assembly import assemble_lines
from replay.live.providers import request_path
from replay.live.providers.call_ids import result_names
from replay.live.providers.json_streams import JsonAssembly
from replay.live.providers.openai_protocol import tool_body, tool_text
from replay.live.providers.types import ModelCall, Provider
from traces.core.json_access import as_object, as_objects, as_string, as_text, member
from traces.core.json_types import JSONObject, JSONValue

# Beside the options of the model.
_OWN_MEMBERS: Final = frozenset({"think", "logprobs", "top_logprobs", "truncate", "shift"})
# Of completions of a prompt, and of other protocols.
_FOREIGN: Final = frozenset(
    {"raw", "template", "suffix", "context", "tool_choice", "parallel_tool_calls", "n", "logit_bias", "verbosity"}
    | {"reasoning", "reasoning_effort", "thinking", "thinkingConfig", "service_tier"}
)
_SPELLINGS: Final = {"max_tokens": "num_predict", "max_completion_tokens": "num_predict"}
_DATA_URL: Final = re.compile(r"data:[\w.+/-]*;base64,(?P<data>.*)", re.DOTALL)


def request(call: ModelCall) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body of the call, and the names of parameters that it cannot express."""
    parameters = {name: value for name, value in as_object(call.input.get("parameters")).items() if value is not None}
    own = {name: value for name, value in parameters.items() if name not in _FOREIGN}
    stop = own.get("stop")
    options = {
        **{_SPELLINGS.get(name, name): value for name, value in own.items() if name not in _OWN_MEMBERS},
        **({"stop": [stop]} if isinstance(stop, str) else {}),
    }
    messages = as_objects(call.input.get("messages"))
    tools = [tool_body(tool) for tool in as_objects(call.input.get("tools"))]
    body: dict[str, Any] = {
        "model": call.model,
        "messages": message_bodies(messages),
        **({"tools": tools} if tools else {}),
        **({"options": options} if options else {}),
        **{name: value for name, value in own.items() if name in _OWN_MEMBERS},
        **format_body(call.input.get("response_format")),
    }
    return body, tuple(name for name in parameters if name in _FOREIGN)


def address(provider: Provider, call: ModelCall) -> str:
    return provider.base_url + request_path("ollama", call)


def pieces(body: JSONObject) -> list[JSONObject]:
    """Return a whole answer as one line of a stream; empty if it is none."""
    return [body] if as_object(body.get("message")) else []


class Assembly(JsonAssembly):
    """Assembles the answer from the lines of a stream."""

    api = "ollama.chat"

    def join(self, events: list[Any]) -> JSONValue:
        return assemble_lines(events)

    def text_of(self, event: JSONObject) -> str:
        return as_string(as_object(event.get("message")).get("content"))

    def is_end(self, event: JSONObject) -> bool:
        return event.get("done") is True


def message_bodies(messages: Sequence[JSONObject]) -> list[JSONValue]:
    """Return messages of a conversation; results have the names of the tools that they are of."""
    return [message_body(message, name) for message, name in zip(messages, result_names(messages), strict=True)]


def message_body(message: JSONObject, tool_name: str = "") -> JSONObject:
    """Return a message; `tool_name` is that of the tool whose result it is."""
    content = message.get("content")
    blocks = as_objects(content) if isinstance(content, list) else []
    is_result = message.get("role") == "tool"
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    body: JSONObject = {
        "role": message.get("role"),
        "content": tool_text(content) if is_result else "".join(texts) or as_string(content),
    }
    if images := [data for block in blocks if (data := _image_data(block))]:
        body["images"] = [*images]
    if thoughts := [as_text(block.get("thinking")) for block in blocks if block.get("type") == "thinking"]:
        body["thinking"] = "\n".join(thoughts)
    if calls := as_objects(message.get("tool_calls")):
        body["tool_calls"] = [_call_body(call) for call in calls]
    if is_result:
        fields = {"tool_name": tool_name or message.get("name"), "tool_call_id": message.get("tool_call_id")}
        body |= {name: value for name, value in fields.items() if value}
    return body


def format_body(format: JSONValue) -> JSONObject:
    """Return the member of a request that states the format of the answer."""
    if format is None or member(format, "type") == "text":
        return {}
    if member(format, "type") == "json_object":
        return {"format": "json"}
    return {"format": member(format, "json_schema", "schema") or format}


def with_prompt(body: JSONObject, message: JSONObject) -> JSONObject:
    """Return a request for a completion with another prompt, and its images."""
    new_message = message_body(message)
    rest = {name: value for name, value in body.items() if name not in {"prompt", "images"}}
    images: JSONObject = {"images": new_message["images"]} if "images" in new_message else {}
    return {**rest, "prompt": new_message["content"], **images}


def _call_body(call: JSONObject) -> JSONObject:
    id: JSONObject = {"id": call["id"]} if call.get("id") else {}
    return {**id, "function": {"name": call.get("name"), "arguments": as_object(call.get("arguments"))}}


def _image_data(block: JSONObject) -> str:
    """Return the data of an image in base64; empty for any other block, and for an image that is elsewhere."""
    image = block.get("image_url")
    match = _DATA_URL.fullmatch(as_string(as_object(image).get("url", image)))
    return match["data"] if match else ""
