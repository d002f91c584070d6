"""The local model's answers in the two protocols: what a request says, and how an answer is told."""

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from cockpit.demo.local_model.model import MODELS, Reply, reply
from cockpit.demo.local_model.text_reader import Tool, read, text_of

Event = tuple[str, dict[str, Any] | Literal["[DONE]"]]
_STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


class BadRequest(Exception):
    """A request that the protocol does not allow; `status` as the real services would answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Told:
    """An answer on its way out; `place` counts what the assistant said before."""

    id: str
    place: int
    model: str
    reply: Reply
    streams: bool
    usage_in_stream: bool = False


def from_chat(body: dict[str, Any]) -> Told:
    """A chat completions request, answered."""
    tools = [_tool(entry.get("function"), "parameters") for entry in _objects(body.get("tools"))]
    wants_json = (body.get("response_format") or {}).get("type") in {"json_object", "json_schema"}
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    return _answered(body, _messages(body), tools, wants_json, limit, body.get("stop"), usage)


def from_messages(body: dict[str, Any]) -> Told:
    """A messages request, answered; the conversation is first put in the chat form."""
    if not isinstance(body.get("max_tokens"), int):
        raise BadRequest("max_tokens: field required")
    tools = [_tool(entry, "input_schema") for entry in _objects(body.get("tools"))]
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    messages = [*system, *(part for message in _messages(body) for part in _chat_form(message))]
    wants_json = bool((body.get("output_config") or {}).get("format"))
    return _answered(body, messages, tools, wants_json, body["max_tokens"], body.get("stop_sequences"), True)


def chat_completion(told: Told) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None if told.reply.calls else told.reply.text}
    if told.reply.calls:
        message["tool_calls"] = _chat_calls(told)
    choice = {"index": 0, "message": message, "finish_reason": told.reply.finish}
    return {**_chat_head(told, "chat.completion"), "choices": [choice], "usage": _chat_usage(told)}


def chat_stream(told: Told) -> Iterator[Event]:
    head = _chat_head(told, "chat.completion.chunk")
    yield "", {**head, "choices": [_delta({"role": "assistant", "content": "" if told.reply.text else None})]}
    for piece in _pieces(told.reply.text):
        yield "", {**head, "choices": [_delta({"content": piece})]}
    for index, call in enumerate(_chat_calls(told)):
        yield "", {**head, "choices": [_delta({"tool_calls": [{"index": index, **call}]})]}
    yield "", {**head, "choices": [{**_delta({}), "finish_reason": told.reply.finish}]}
    if told.usage_in_stream:
        yield "", {**head, "choices": [], "usage": _chat_usage(told)}
    yield "", "[DONE]"


def message(told: Told) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": told.reply.text}] if told.reply.text else []
    return {
        **_message_head(told),
        "content": [*blocks, *_tool_uses(told)],
        "stop_reason": _STOP_REASONS[told.reply.finish],
        "usage": {"input_tokens": told.reply.tokens_in, "output_tokens": told.reply.tokens_out},
    }


def message_stream(told: Told) -> Iterator[Event]:
    usage = {"input_tokens": told.reply.tokens_in, "output_tokens": 0}
    start = {**_message_head(told), "content": [], "stop_reason": None, "usage": usage}
    yield _event("message_start", message=start)
    if told.reply.text:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in _pieces(told.reply.text):
            yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=0)
    for index, use in enumerate(_tool_uses(told)):
        yield _event("content_block_start", index=index, content_block={**use, "input": {}})
        arguments = {"type": "input_json_delta", "partial_json": json.dumps(use["input"])}
        yield _event("content_block_delta", index=index, delta=arguments)
        yield _event("content_block_stop", index=index)
    delta = {"stop_reason": _STOP_REASONS[told.reply.finish], "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": told.reply.tokens_out})
    yield _event("message_stop")


def _answered(
    body: dict[str, Any],
    messages: list[dict[str, Any]],
    tools: list[Tool],
    wants_json: bool,
    limit: object,
    stop: object,
    usage: bool,
) -> Told:
    model = body.get("model")
    if model not in MODELS:
        raise BadRequest(f"The model {model!r} does not exist; there are {', '.join(MODELS)}.", 404)
    if not messages:
        raise BadRequest("messages: at least one message is needed")
    request = read(model=str(model), messages=messages, tools=tools, wants_json=wants_json)
    text = json.dumps([messages, [tool.told for tool in tools]], ensure_ascii=False)
    stops = [stop] if isinstance(stop, str) else [mark for mark in stop or [] if isinstance(mark, str)]  # type: ignore[attr-defined]  # checked item by item
    made = reply(request, prompt_text=text, max_tokens=limit if isinstance(limit, int) else None, stop=stops)
    return Told(
        id=f"local-{hashlib.sha256(text.encode()).hexdigest()[:16]}",
        place=sum(message.get("role") == "assistant" for message in messages),
        model=str(model),
        reply=made,
        streams=bool(body.get("stream")),
        usage_in_stream=usage,
    )


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    given = body.get("messages")
    if not isinstance(given, list) or not all(isinstance(message, dict) for message in given):
        raise BadRequest("messages: a list of messages is needed")
    return given


def _chat_form(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One message of the messages protocol as the chat messages that say the same."""
    blocks = _objects(message.get("content"))
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": block.get("content")}
    text = text_of([block for block in blocks if block.get("type") == "text"]) or text_of(message.get("content"))
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    calls = [
        {"id": use.get("id"), "function": {"name": use.get("name"), "arguments": json.dumps(use.get("input"))}}
        for use in uses
    ]
    if text or calls:
        yield {"role": message.get("role"), "content": text, **({"tool_calls": calls} if calls else {})}


def _tool(entry: object, schema: str) -> Tool:
    given = entry if isinstance(entry, dict) else {}
    parameters = given.get(schema)
    return Tool(
        name=str(given.get("name", "")),
        description=str(given.get("description", "")),
        parameters=parameters if isinstance(parameters, dict) else {},
    )


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _pieces(text: str) -> list[str]:
    """A text word by word, as a model would tell it."""
    words = text.split(" ")
    return [f"{' ' if at else ''}{word}" for at, word in enumerate(words)] if text else []


def _call_id(told: Told, index: int) -> str:
    """The same call at the same place of a conversation has the same id: nothing here is left to chance."""
    call = told.reply.calls[index]
    at = f"{told.place}/{index}/{call.name}/{json.dumps(call.arguments, sort_keys=True)}"
    return f"call_{hashlib.sha256(at.encode()).hexdigest()[:16]}"


def _chat_calls(told: Told) -> list[dict[str, Any]]:
    return [
        {
            "id": _call_id(told, index),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for index, call in enumerate(told.reply.calls)
    ]


def _tool_uses(told: Told) -> list[dict[str, Any]]:
    return [
        {"type": "tool_use", "id": _call_id(told, index), "name": call.name, "input": call.arguments}
        for index, call in enumerate(told.reply.calls)
    ]


def _chat_head(told: Told, kind: str) -> dict[str, Any]:
    return {"id": told.id, "object": kind, "created": int(time.time()), "model": told.model}


def _message_head(told: Told) -> dict[str, Any]:
    return {"id": told.id, "type": "message", "role": "assistant", "model": told.model, "stop_sequence": None}


def _chat_usage(told: Told) -> dict[str, int]:
    given, made = told.reply.tokens_in, told.reply.tokens_out
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _event(name: str, **fields: Any) -> Event:
    return name, {"type": name, **fields}
