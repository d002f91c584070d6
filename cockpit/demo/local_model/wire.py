"""Requests and answers of the local model in the OpenAI and the Anthropic protocol."""

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from cockpit.demo.local_model.model import MODELS, Reply, reply
from cockpit.demo.local_model.text_reader import Tool, read, text_of
from traces.core.json_access import as_object, as_objects

Event = tuple[str, dict[str, Any] | Literal["[DONE]"]]
_STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


class BadRequest(Exception):
    """A request that the protocol does not allow, with the status of the real services."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class ProtocolAnswer:
    """An answer to send; `place` is the number of earlier assistant messages."""

    id: str
    place: int
    model: str
    reply: Reply
    streams: bool
    usage_in_stream: bool = False


def from_chat(body: dict[str, Any]) -> ProtocolAnswer:
    """Answer a chat completions request."""
    tools = [_tool(entry.get("function"), "parameters") for entry in as_objects(body.get("tools"))]
    wants_json = (body.get("response_format") or {}).get("type") in {"json_object", "json_schema"}
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    return _answer(body, _messages(body), tools, wants_json, limit, body.get("stop"), usage)


def from_messages(body: dict[str, Any]) -> ProtocolAnswer:
    """Answer a messages request, after converting the conversation to chat format."""
    if not isinstance(body.get("max_tokens"), int):
        raise BadRequest("max_tokens: field required")
    tools = [_tool(entry, "input_schema") for entry in as_objects(body.get("tools"))]
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    messages = [*system, *(part for message in _messages(body) for part in _chat_form(message))]
    wants_json = bool((body.get("output_config") or {}).get("format"))
    return _answer(body, messages, tools, wants_json, body["max_tokens"], body.get("stop_sequences"), True)


def chat_completion(answer: ProtocolAnswer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None if answer.reply.calls else answer.reply.text}
    if answer.reply.calls:
        message["tool_calls"] = _chat_calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": answer.reply.finish}
    return {**_chat_head(answer, "chat.completion"), "choices": [choice], "usage": _chat_usage(answer)}


def chat_stream(answer: ProtocolAnswer) -> Iterator[Event]:
    head = _chat_head(answer, "chat.completion.chunk")
    yield "", {**head, "choices": [_delta({"role": "assistant", "content": "" if answer.reply.text else None})]}
    for piece in _pieces(answer.reply.text):
        yield "", {**head, "choices": [_delta({"content": piece})]}
    for index, call in enumerate(_chat_calls(answer)):
        yield "", {**head, "choices": [_delta({"tool_calls": [{"index": index, **call}]})]}
    yield "", {**head, "choices": [{**_delta({}), "finish_reason": answer.reply.finish}]}
    if answer.usage_in_stream:
        yield "", {**head, "choices": [], "usage": _chat_usage(answer)}
    yield "", "[DONE]"


def message(answer: ProtocolAnswer) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.reply.text}] if answer.reply.text else []
    return {
        **_message_head(answer),
        "content": [*blocks, *_tool_uses(answer)],
        "stop_reason": _STOP_REASONS[answer.reply.finish],
        "usage": {"input_tokens": answer.reply.tokens_in, "output_tokens": answer.reply.tokens_out},
    }


def message_stream(answer: ProtocolAnswer) -> Iterator[Event]:
    usage = {"input_tokens": answer.reply.tokens_in, "output_tokens": 0}
    start = {**_message_head(answer), "content": [], "stop_reason": None, "usage": usage}
    yield _event("message_start", message=start)
    if answer.reply.text:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in _pieces(answer.reply.text):
            yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=0)
    for index, use in enumerate(_tool_uses(answer)):
        yield _event("content_block_start", index=index, content_block={**use, "input": {}})
        arguments = {"type": "input_json_delta", "partial_json": json.dumps(use["input"])}
        yield _event("content_block_delta", index=index, delta=arguments)
        yield _event("content_block_stop", index=index)
    delta = {"stop_reason": _STOP_REASONS[answer.reply.finish], "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": answer.reply.tokens_out})
    yield _event("message_stop")


def _answer(
    body: dict[str, Any],
    messages: list[dict[str, Any]],
    tools: list[Tool],
    wants_json: bool,
    limit: object,
    stop: object,
    usage: bool,
) -> ProtocolAnswer:
    model = body.get("model")
    if model not in MODELS:
        raise BadRequest(f"The model “{model}” does not exist; use one of {', '.join(MODELS)}.", 404)
    if not messages:
        raise BadRequest("messages: at least one message is needed")
    request = read(model=str(model), messages=messages, tools=tools, wants_json=wants_json)
    text = json.dumps([messages, [tool.text for tool in tools]], ensure_ascii=False)
    stops = [stop] if isinstance(stop, str) else [mark for mark in stop or [] if isinstance(mark, str)]  # type: ignore[attr-defined]  # checked item by item
    model_reply = reply(request, prompt_text=text, max_tokens=limit if isinstance(limit, int) else None, stop=stops)
    return ProtocolAnswer(
        id=f"local-{hashlib.sha256(text.encode()).hexdigest()[:16]}",
        place=sum(message.get("role") == "assistant" for message in messages),
        model=str(model),
        reply=model_reply,
        streams=bool(body.get("stream")),
        usage_in_stream=usage,
    )


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise BadRequest("messages: a list of messages is needed")
    return messages


def _chat_form(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Convert a message of the messages protocol to chat messages."""
    blocks = as_objects(message.get("content"))
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
    definition = as_object(entry)
    parameters = definition.get(schema)
    return Tool(
        name=str(definition.get("name", "")),
        description=str(definition.get("description", "")),
        parameters=as_object(parameters),
    )


def _pieces(text: str) -> list[str]:
    """Split a text into words for streaming."""
    words = text.split(" ")
    return [f"{' ' if index else ''}{word}" for index, word in enumerate(words)] if text else []


def _call_id(answer: ProtocolAnswer, index: int) -> str:
    """Return a deterministic id: the same call at the same place of a conversation has the same id."""
    call = answer.reply.calls[index]
    position = f"{answer.place}/{index}/{call.name}/{json.dumps(call.arguments, sort_keys=True)}"
    return f"call_{hashlib.sha256(position.encode()).hexdigest()[:16]}"


def _chat_calls(answer: ProtocolAnswer) -> list[dict[str, Any]]:
    return [
        {
            "id": _call_id(answer, index),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for index, call in enumerate(answer.reply.calls)
    ]


def _tool_uses(answer: ProtocolAnswer) -> list[dict[str, Any]]:
    return [
        {"type": "tool_use", "id": _call_id(answer, index), "name": call.name, "input": call.arguments}
        for index, call in enumerate(answer.reply.calls)
    ]


def _chat_head(answer: ProtocolAnswer, kind: str) -> dict[str, Any]:
    return {"id": answer.id, "object": kind, "created": int(time.time()), "model": answer.model}


def _message_head(answer: ProtocolAnswer) -> dict[str, Any]:
    return {"id": answer.id, "type": "message", "role": "assistant", "model": answer.model, "stop_sequence": None}


def _chat_usage(answer: ProtocolAnswer) -> dict[str, int]:
    tokens_in, tokens_out = answer.reply.tokens_in, answer.reply.tokens_out
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _event(name: str, **fields: Any) -> Event:
    return name, {"type": name, **fields}
