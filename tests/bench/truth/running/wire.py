"""OpenAI's chat completions on both sides: requests of a program, and the answers of its model."""

import json
from collections.abc import Iterator
from typing import Final
from uuid import uuid4

from tests.bench.truth import brain
from tests.bench.truth.platforms import wire_message
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.messages import Message

# Characters of a piece of a stream.
_PIECE: Final = 7


def request_body(model: str, request: JSONObject) -> JSONObject:
    """Body of a request, from the input of a recorded step."""
    body: JSONObject = {"model": model, **as_object(request.get("parameters"))}
    body["messages"] = [wire_message(Message(message)) for message in as_objects(request.get("messages"))]
    if tools := as_objects(request.get("tools")):
        body["tools"] = [{"type": "function", "function": tool} for tool in tools]
    return body


def plain_message(message: JSONObject) -> JSONObject:
    """Message with calls as a recorded step has them."""
    calls: list[JSONValue] = [
        {
            "id": call["id"],
            "name": as_object(call["function"])["name"],
            "arguments": json.loads(str(as_object(call["function"])["arguments"])),
        }
        for call in as_objects(message.get("tool_calls"))
    ]
    # A stream gives an empty text beside calls.
    plain: JSONObject = {"role": message["role"], "content": message.get("content") or (None if calls else "")}
    if message["role"] == "tool":
        plain["tool_call_id"] = message["tool_call_id"]
    return {**plain, "tool_calls": calls} if calls else plain


def answer(body: JSONObject) -> JSONObject:
    """Return the model's message for the body of a request."""
    request: JSONObject = {
        "messages": [plain_message(message) for message in as_objects(body["messages"])],
        "parameters": {"temperature": float(str(body.get("temperature", 0)))},
    }
    if tools := as_objects(body.get("tools")):
        request["tools"] = [as_object(tool["function"]) for tool in tools]
    message = brain.answer(request, str(body["model"]), lambda: f"call_{uuid4().hex[:12]}")
    return wire_message(Message(message))


def completion(body: JSONObject) -> JSONObject:
    message = answer(body)
    choice: JSONObject = {"index": 0, "message": message, "finish_reason": _finish(message)}
    usage: JSONObject = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": usage}


def chunks(body: JSONObject) -> Iterator[JSONObject]:
    """Yield the answer as a stream: its text and the arguments of its calls in pieces."""
    head, message = _head(body, "chat.completion.chunk"), answer(body)
    deltas: list[JSONObject] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(str(message.get("content") or ""))]
    for index, call in enumerate(as_objects(message.get("tool_calls"))):
        function = as_object(call["function"])
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _pieces(str(function["arguments"]))
        ]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(message)}]}


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _finish(message: JSONObject) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _head(body: JSONObject, kind: str) -> JSONObject:
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": 1_770_000_000, "model": body["model"]}
