"""Langfuse server on loopback: validates requests against the ingestion contract, stores events, fails on demand."""

import base64
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from tests.support.servers.provider_server import Exchange, provider_server

KEYS = ("pk-lf-test", "sk-lf-test")
MOST_BYTES = 4_500_000
_COMMON = {"id": str, "name": str, "input": object, "output": object, "metadata": object, "environment": str}
_OBSERVATION = {
    **_COMMON,
    "traceId": str,
    "startTime": "time",
    "endTime": "time",
    "level": {"DEBUG", "DEFAULT", "WARNING", "ERROR"},
    "statusMessage": str,
    "parentObservationId": str,
    "version": str,
}
_BODIES: dict[str, dict[str, Any]] = {
    "trace-create": {
        **_COMMON,
        "timestamp": "time",
        "userId": str,
        "sessionId": str,
        "release": str,
        "version": str,
        "tags": list,
        "public": bool,
    },
    "span-create": _OBSERVATION,
    "generation-create": {
        **_OBSERVATION,
        "completionStartTime": "time",
        "model": str,
        "modelParameters": "parameters",
        "usageDetails": "usage",
        "costDetails": "costs",
        "promptName": str,
        "promptVersion": int,
    },
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_OPENAI = {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"}
Fail = Callable[[Exchange], bool]


@dataclass
class LangfuseServer:
    """Accepted `bodies` by id, in `order`. `fail` may answer a request itself by returning True."""

    base_url: str = ""
    fail: Fail = lambda exchange: False
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    requests: list[Exchange] = field(default_factory=list)
    rejections: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def batch(self) -> dict[str, Any]:
        """Return all accepted events as one ingestion request."""
        return {"batch": [self.bodies[id] for id in self.order], "metadata": {}}


@contextmanager
def langfuse_server() -> Iterator[LangfuseServer]:
    langfuse = LangfuseServer()
    with provider_server(lambda exchange: _answer(langfuse, exchange)) as running:
        langfuse.base_url = running.base_url
        yield langfuse


def _answer(langfuse: LangfuseServer, exchange: Exchange) -> None:
    with langfuse.lock:
        langfuse.requests.append(exchange)
        if not langfuse.fail(exchange):
            exchange.status(*_response(langfuse, exchange))


def _response(langfuse: LangfuseServer, exchange: Exchange) -> tuple[int, dict[str, Any]]:
    basic = base64.b64encode(":".join(KEYS).encode()).decode()
    if exchange.path != "/api/public/ingestion":
        return 404, {"message": "no such place"}
    if exchange.headers.get("authorization") != f"Basic {basic}":
        return 401, {"message": "Invalid credentials"}
    if int(exchange.headers["content-length"]) > MOST_BYTES:
        return 413, {"message": "Body exceeded 4.5mb limit"}
    return 207, _ingest(langfuse, exchange.body)


def _ingest(langfuse: LangfuseServer, body: dict[str, Any]) -> dict[str, Any]:
    successes, errors = [], []
    for event in body["batch"]:
        if problem := find_problem(event):
            langfuse.rejections.append(problem)
            errors.append({"id": event.get("id"), "status": 400, "message": "Invalid request data", "error": problem})
            continue
        key = event["body"]["id"]
        if key not in langfuse.bodies:
            langfuse.order.append(key)
        langfuse.bodies[key] = event
        langfuse.events[event["id"]] = langfuse.events.get(event["id"], 0) + 1
        successes.append({"id": event["id"], "status": 201})
    return {"successes": successes, "errors": errors}


def find_problem(event: dict[str, Any]) -> str:
    """Return the problem of an envelope, or an empty string."""
    if event.keys() != {"id", "type", "timestamp", "body"}:
        return f"envelope has {sorted(event)}"
    try:
        UUID(event["id"])
    except ValueError:
        return f"id {event['id']!r} is no UUID"
    if event["type"] not in _BODIES:
        return f"unknown type {event['type']}"
    if not _is("time", event["timestamp"]):
        return f"timestamp {event['timestamp']!r}"
    fields = _BODIES[event["type"]]
    for name, value in event["body"].items():
        if name not in fields:
            return f"{event['type']} has no {name}"
        if not _is(fields[name], value):
            return f"{name} is {value!r}"
    required_fields = {"id"} if event["type"] == "trace-create" else {"id", "traceId", "name", "startTime"}
    return f"lacks {required_fields - event['body'].keys()}" if required_fields - event["body"].keys() else ""


def _is(kind: Any, value: Any) -> bool:
    if value is None:
        return True
    if isinstance(kind, set):
        return bool(value in kind)
    match kind:
        case "time":
            return isinstance(value, str) and bool(_TIME.fullmatch(value)) and bool(datetime.fromisoformat(value))
        case "parameters":
            return all(isinstance(item, str | int | float | bool | list | None) for item in value.values())
        case "usage":
            if "prompt_tokens" in value:
                keys = set(value)
                return keys <= _OPENAI and {"prompt_tokens", "completion_tokens", "total_tokens"} <= keys
            return all(isinstance(item, int) for item in value.values())
        case "costs":
            return all(isinstance(item, int | float) for item in value.values())
    return bool(isinstance(value, kind))
