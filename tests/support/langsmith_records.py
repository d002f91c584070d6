"""Runs of a small LangSmith trace, as its clients send them: an agent, a model call and a tool call."""

from typing import Any

import orjson

Run = dict[str, Any]
TRACE, CALL, TOOL = (f"01a1ffd4-0000-7000-8000-00000000000{number}" for number in range(3))
_TIME = "2026-03-01T10:00:0{}.000000+00:00"


def root(**fields: Any) -> Run:
    run = {"id": TRACE, "trace_id": TRACE, "name": "desk", "run_type": "chain", "session_name": "shop"}
    return {**run, "start_time": _TIME.format(0), "inputs": {"question": "Where is my order?"}, **fields}


def root_end() -> Run:
    return {"id": TRACE, "trace_id": TRACE, "end_time": _TIME.format(9), "outputs": {"output": "It is on its way."}}


def call(**fields: Any) -> Run:
    messages = [{"role": "user", "content": "Where is my order?"}]
    message = {"role": "assistant", "content": "It is on its way."}
    usage = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}
    run = {
        "id": CALL,
        "trace_id": TRACE,
        "parent_run_id": TRACE,
        "name": "ChatOpenAI",
        "run_type": "llm",
        "start_time": _TIME.format(1),
        "end_time": _TIME.format(2),
        "inputs": {"messages": messages, "model": "m1", "temperature": 0.2},
        "outputs": {"choices": [{"message": message, "finish_reason": "stop"}], "usage_metadata": usage},
        "extra": {"metadata": {"ls_provider": "openai", "ls_model_name": "m1"}},
    }
    return {**run, **fields}


def tool(**fields: Any) -> Run:
    run = {
        "id": TOOL,
        "trace_id": TRACE,
        "parent_run_id": TRACE,
        "name": "get_order",
        "run_type": "tool",
        "start_time": _TIME.format(3),
        "end_time": _TIME.format(4),
        "inputs": {"order": "A1"},
        "outputs": {"output": "shipped"},
    }
    return {**run, **fields}


def feedback(**fields: Any) -> Run:
    statement = {"id": "f1", "key": "helpful", "score": 0.5, "run_id": TRACE, "trace_id": TRACE}
    return {**statement, "created_at": _TIME.format(5), "feedback_source": {"type": "api"}, **fields}


def part(name: str, value: Any, media_type: str = "application/json") -> bytes:
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    headers = f'Content-Disposition: form-data; name="{name}"\r\nContent-Type: {media_type}'
    return f"{headers}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def run_parts(verb: str, run: Run) -> list[bytes]:
    """Split a run as the SDK does: its large fields are parts of their own."""
    large = ("inputs", "outputs", "events", "extra", "error", "serialized")
    rest = {key: value for key, value in run.items() if key not in large}
    fields = [part(f"{verb}.{run['id']}.{name}", run[name]) for name in large if name in run]
    return [part(f"{verb}.{run['id']}", rest), *fields]


def form(*parts: bytes, boundary: str = "b0undary") -> bytes:
    return b"".join(f"--{boundary}\r\n".encode() + item + b"\r\n" for item in parts) + f"--{boundary}--\r\n".encode()
