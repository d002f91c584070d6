"""Chat completions on loopback: one tool call, then an answer; "please fail" is refused."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server

ANSWER: Final = "It is rainy, 57F."
CALL: Final = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
}
_USAGE: Final = {
    "prompt_tokens": 42,
    "completion_tokens": 9,
    "total_tokens": 51,
    "prompt_tokens_details": {"cached_tokens": 16},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


@contextmanager
def weather_model() -> Iterator[ProviderServer]:
    with provider_server(_respond) as server:
        yield server


def _respond(exchange: Exchange) -> None:
    messages = exchange.body["messages"]
    if any(message.get("content") == "please fail" for message in messages):
        exchange.status(400, {"error": {"message": "this fails", "type": "invalid_request_error", "code": "bad"}})
        return
    is_answer = any(message["role"] == "tool" for message in messages)
    message: dict[str, Any] = {"role": "assistant", "content": ANSWER if is_answer else None}
    message |= {} if is_answer else {"tool_calls": [CALL]}
    reason = "stop" if is_answer else "tool_calls"
    head = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4o-mini-2024-07-18"}
    if not exchange.body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        exchange.status(200, {**head, "object": "chat.completion", "choices": [choice], "usage": _USAGE})
        return
    exchange.stream()
    head["object"] = "chat.completion.chunk"
    for start in range(0, len(ANSWER), 7):
        delta = {"role": "assistant", "content": ANSWER[start : start + 7]}
        exchange.send({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    exchange.send({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    exchange.send({**head, "choices": [], "usage": _USAGE})
    exchange.send("[DONE]")


def recorded_request(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request that the model received in the shape of a model step's input, without its parameters."""
    tools = [tool["function"] for tool in body.get("tools", [])]
    request: dict[str, Any] = {"messages": [_recorded_message(message) for message in body["messages"]]}
    return {**request, "tools": tools} if tools else request


def _recorded_message(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": call["id"], "name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls", [])
    ]
    return {"content": None, **message, **({"tool_calls": calls} if calls else {})}
