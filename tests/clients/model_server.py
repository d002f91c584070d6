"""Model server on loopback: the APIs of OpenAI, Anthropic, Gemini and Ollama, plain and streamed; vectors and counts.

It requests two tools at once, then one tool, then answers. A request that contains "Bern" gets another city in the
second turn, one that contains "please erase" another tool, `erase`, in the first ("please erase and shred": two), and
one that contains "please fail" an error. Ids depend on the turn only, but that of a response on the request. CrewAI's
prompt for models without tool calls, and DSPy's, get the same tools in words, one at a time.
"""

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.patience import patience_s
from tests.support.servers.provider_server import Exchange, provider_server

ANSWER: Final = "It is 21 °C in Zürich and noon."
CALLS: Final[tuple[tuple[tuple[str, str], ...], ...]] = (
    (("get_weather", "Zürich"), ("get_time", "Zürich")),
    (("get_weather", "Lima"),),
)
_CUT: Final = 7
_SHORT_NAME: Final = re.compile(r"([a-z]+_)*[a-z]*$")
_AT_ONCE: Final = "answers_at_once"


@dataclass
class ModelServer:
    """The address, and each request body with its path, and the key that came with it, in the order of arrival.

    `on_arrival` is called with the number of each request. The server answers while `is_open` is set, and with
    `answers_at_once` without a call of a tool.
    """

    url: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    is_open: threading.Event = field(default_factory=threading.Event)
    answers_at_once: bool = False
    model_names: list[str] = field(default_factory=lambda: ["m1"])
    on_arrival: Callable[[int], None] = lambda number: None


@contextmanager
def model_server() -> Iterator[ModelServer]:
    server = ModelServer()
    server.is_open.set()

    def respond(exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        if not path.endswith(("enerateContent", *_ANSWERS)):
            names = [{"id": name} for name in server.model_names]
            exchange.status(*((200, {"object": "list", "data": names}) if path.endswith("/models") else (404, {})))
            return
        server.requests.append((path, exchange.body))
        server.keys.append(exchange.headers.get("authorization", ""))
        if server.answers_at_once:
            exchange.body = {**exchange.body, _AT_ONCE: True}
        server.on_arrival(len(server.requests))
        server.is_open.wait(patience_s(30))
        if "please fail" in json.dumps(exchange.body):
            error = {"message": "this fails", "type": "invalid_request_error", "code": 400, "status": "INVALID"}
            exchange.status(400, {"type": "error", "error": error})
        elif path.endswith("enerateContent"):
            _gemini(exchange, path)
        else:
            next(answer for end, answer in _ANSWERS.items() if path.endswith(end))(exchange)

    with provider_server(respond) as provider:
        server.url = provider.base_url
        yield server


def _calls(turn: int, body: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the id, tool and city of each call in a turn; a final tool of a framework is the last one's."""
    tools = body.get("tools")
    if not tools:
        return []
    if turn < len(CALLS) and _AT_ONCE not in body:
        other_city = {"Lima": "Bern"} if "Bern" in json.dumps(body) else {}
        if turn == 0 and "please erase" in json.dumps(body):
            is_shredding = "please erase and shred" in json.dumps(body)
            return [("call_erase", "erase", "Zürich"), *([("call_shred", "shred", "Zürich")] if is_shredding else [])]
        # Claude Code puts the name of the server before that of a tool, Semantic Kernel that of the plugin.
        names = [str((tool.get("function") or tool).get("name", "")) for tool in tools]
        full_names = {_SHORT_NAME.search(name)[0]: name for name in names}  # type: ignore[index]  # it matches any
        return [
            (f"call_{turn}{number}", full_names.get(name, name), other_city.get(city, city))
            for number, (name, city) in enumerate(CALLS[turn])
        ]
    return [("call_end", "final_answer", ANSWER)] if "final_answer" in json.dumps(tools) else []


def _arguments(name: str, value: str) -> dict[str, str]:
    return {"answer": value} if name == "final_answer" else {"city": value}


def _pieces(text: str) -> list[str]:
    return [text[start : start + _CUT] for start in range(0, len(text), _CUT)]


def _text(turn: int, body: dict[str, Any]) -> str:
    text = json.dumps(body["messages"])
    calls = [call for calls in CALLS for call in calls]
    if "[[ ## answer ## ]]" in text or "[[ ## next_tool_name ## ]]" in text:
        return _dspy_text(text, calls)
    if body.get("tools") or "Action Input:" not in text:
        return ANSWER
    if turn == len(calls):
        return f"Thought: I know it\nFinal Answer: {ANSWER}"
    name, city = calls[turn]
    return f"Thought: I need it\nAction: {name}\nAction Input: {json.dumps(_arguments(name, city))}"


def _dspy_text(text: str, calls: list[tuple[str, str]]) -> str:
    """Return the fields that DSPy's prompt asks for, which contains the results so far."""
    count = text.count("[[ ## observation_")
    fields = {"reasoning": "I know it", "answer": ANSWER}
    if "[[ ## next_tool_name ## ]]" in text:
        name, city = calls[count] if count < len(calls) else ("finish", "")
        arguments = _arguments(name, city) if city else {}
        fields = {"next_thought": "go on", "next_tool_name": name, "next_tool_args": json.dumps(arguments)}
    return "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in {**fields, "completed": ""}.items())


def _chat(exchange: Exchange) -> None:
    body = exchange.body
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    calls, text = _calls(turn, body), _text(turn, body)
    tool_calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(_arguments(name, city))}}
        for id, name, city in calls
    ]
    reason = "tool_calls" if calls else "stop"
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else text, "refusal": None}
    message |= {"tool_calls": tool_calls} if calls else {}
    usage: dict[str, Any] = {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}
    usage |= {"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}
    head = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        exchange.status(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        return
    exchange.stream()
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if calls else ""}]
    deltas += [{"content": piece} for piece in _pieces("" if calls else text)]
    for index, call in enumerate(tool_calls):
        function: Any = call["function"]
        deltas.append({"tool_calls": [{"index": index, **call, "function": {**function, "arguments": ""}}]})
        for piece in _pieces(function["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    head["object"] = "chat.completion.chunk"
    for delta in deltas:
        exchange.send({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    exchange.send({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        exchange.send({**head, "choices": [], "usage": usage})
    exchange.send("[DONE]")


def _responses(exchange: Exchange) -> None:
    body = exchange.body
    items = body["input"] if isinstance(body["input"], list) else []
    result_count = sum(str(item.get("type", "")).endswith("call_output") for item in items)
    calls = _calls({0: 0, 2: 1}.get(result_count, 2), body)
    output: list[dict[str, Any]] = [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "status": "completed"}
        | {"arguments": json.dumps(_arguments(name, city))}
        for id, name, city in calls
    ]
    if not output:
        text = {"type": "output_text", "text": ANSWER, "annotations": [], "logprobs": []}
        output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}]
    usage: dict[str, Any] = {"input_tokens": 30, "output_tokens": 9, "total_tokens": 39}
    usage |= {"input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 2}}
    id = f"resp_{zlib.crc32(json.dumps(body).encode())}"
    response = {"id": id, "object": "response", "created_at": 1, "status": "completed"}
    response |= {"error": None, "incomplete_details": None, "instructions": body.get("instructions")}
    response |= {"model": body["model"], "output": output, "parallel_tool_calls": True, "tool_choice": "auto"}
    response |= {"tools": body.get("tools") or [], "usage": usage, "metadata": {}, "temperature": 1.0, "top_p": 1.0}
    if not body.get("stream"):
        exchange.status(200, response)
        return
    exchange.stream()
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": [], "usage": None}}
    ]
    for index, item in enumerate(output):
        position = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            events += _message_events(item, position)
        else:
            events.append({"type": "response.output_item.added", **position, "item": {**item, "arguments": ""}})
            events += [
                {"type": "response.function_call_arguments.delta", **position, "delta": piece}
                for piece in _pieces(item["arguments"])
            ]
        events.append({"type": "response.output_item.done", **position, "item": item})
    events.append({"type": "response.completed", "response": response})
    for number, event in enumerate(events):
        exchange.send({**event, "sequence_number": number}, event["type"])


def _message_events(item: dict[str, Any], position: dict[str, Any]) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    place = {**position, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", **position, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **place, "part": part},
    ]
    events += [
        {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []} for piece in _pieces(ANSWER)
    ]
    events.append({"type": "response.output_text.done", **place, "text": ANSWER, "logprobs": []})
    events.append({"type": "response.content_part.done", **place, "part": {**part, "text": ANSWER}})
    return events


def _messages(exchange: Exchange) -> None:
    body = exchange.body
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    calls = _calls(turn, body)
    blocks: list[dict[str, Any]] = [
        {"type": "tool_use", "id": id, "name": name, "input": _arguments(name, city)} for id, name, city in calls
    ] or [{"type": "text", "text": ANSWER}]
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    usage = {"input_tokens": 26, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 9}
    message = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": body["model"], "usage": usage}
    if not body.get("stream"):
        exchange.status(200, {**message, "content": blocks, **reason})
        return
    exchange.stream()
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    start["usage"] = {**usage, "output_tokens": 1}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(blocks):
        is_call = block["type"] == "tool_use"
        kind, key = ("input_json_delta", "partial_json") if is_call else ("text_delta", "text")
        block_start: dict[str, Any] = {**block, **({"input": {}} if is_call else {"text": ""})}
        events.append({"type": "content_block_start", "index": index, "content_block": block_start})
        for piece in _pieces(json.dumps(block["input"]) if is_call else ANSWER):
            events.append({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": reason, "usage": {"output_tokens": 9}})
    for event in [*events, {"type": "message_stop"}]:
        exchange.send(event, event["type"])


def _embeddings(exchange: Exchange) -> None:
    text = exchange.body["input"]
    data = [{"object": "embedding", "index": 0, "embedding": [len(text) / 100, 0.25]}]
    usage = {"prompt_tokens": len(text), "total_tokens": len(text)}
    exchange.status(200, {"object": "list", "data": data, "model": exchange.body["model"], "usage": usage})


def _ollama(exchange: Exchange) -> None:
    body = exchange.body
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    calls = [{"function": {"name": name, "arguments": _arguments(name, city)}} for _, name, city in _calls(turn, body)]
    head = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 30, "eval_count": 9}
    text = "" if calls else _text(turn, body)
    if not body.get("stream", True):
        message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        exchange.status(200, {**head, "message": message, **end})
        return
    contents: list[dict[str, Any]] = [{"content": "", "tool_calls": [call]} for call in calls]
    contents += [{"content": piece} for piece in _pieces(text)]
    lines = [{**head, "message": {"role": "assistant", **content}, "done": False} for content in contents]
    lines.append({**head, "message": {"role": "assistant", "content": ""}, **end})
    exchange.status(200, "".join(f"{json.dumps(line)}\n" for line in lines), content_type="application/x-ndjson")


def _gemini(exchange: Exchange, path: str) -> None:
    body = exchange.body
    calls = _calls(sum(content.get("role") == "model" for content in body["contents"]), body)
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": name, "args": _arguments(name, city)}} for _, name, city in calls
    ]
    tail = {"modelVersion": "gemini-2.5-flash", "responseId": "r1"}
    usage = {"promptTokenCount": 30, "candidatesTokenCount": 9, "totalTokenCount": 39, "cachedContentTokenCount": 4}
    if not path.endswith(":streamGenerateContent"):
        candidate = {
            "content": {"role": "model", "parts": parts or [{"text": ANSWER}]},
            "index": 0,
            "finishReason": "STOP",
        }
        exchange.status(200, {"candidates": [candidate], "usageMetadata": usage, **tail})
        return
    exchange.stream()
    parts = parts or [{"text": piece} for piece in _pieces(ANSWER)]
    for number, part in enumerate(parts):
        reason = {"finishReason": "STOP"} if number == len(parts) - 1 else {}
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **reason}
        exchange.send({"candidates": [candidate], "usageMetadata": usage, **tail})


def _count_tokens(exchange: Exchange) -> None:
    exchange.status(200, {"input_tokens": len(json.dumps(exchange.body["messages"]))})


_ANSWERS: Final[dict[str, Callable[[Exchange], None]]] = {
    "/chat/completions": _chat,
    "/api/chat": _ollama,
    "/responses": _responses,
    "/messages": _messages,
    "/embeddings": _embeddings,
    "/count_tokens": _count_tokens,
}
