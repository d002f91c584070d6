"""A stored run as events of Langfuse's ingestion interface, one for the trace and one for each step. Pure.

An event says everything about what it is about, and its id follows from that: sent twice, it changes nothing.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from traces.core.json_output import as_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import StepHeader, step_view
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import Message

MOST_BYTES: Final = 3_500_000  # of one request; Langfuse takes 4.5 MB
_PLACES: Final = ("input", "output")
_ENVIRONMENT: Final = re.compile(r"(?!langfuse)[a-z0-9_-]{1,40}")
_LEVELS: Final = {
    StepStatus.ERROR: "ERROR",
    StepStatus.TIMEOUT: "ERROR",
    StepStatus.DENIED: "WARNING",
    StepStatus.PARTIAL: "WARNING",
    StepStatus.UNVERIFIED: "WARNING",
}


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """A run as the trace says it; `sealed_at` is the time of every event, so that a repeat is equal."""

    id: UUID
    name: str
    app: str
    status: str
    sealed_at: datetime
    source: str = ""
    environment: str = ""
    session: str = ""
    started_at: datetime | None = None
    input: JSONValue = None
    output: JSONValue = None
    tags: list[str] = field(default_factory=list)
    metadata: JSONObject = field(default_factory=dict)
    replay: JSONObject = field(default_factory=dict)  # where a replay came from

    @property
    def trace_id(self) -> str:
        return self.id.hex


@step_view
class StepFacts(StepHeader):
    id: UUID
    no: int
    label: str
    reason: str = ""
    parent: UUID | None = None
    started_at: datetime | None = None
    duration_ms: float | None = None
    input: JSONValue = None
    output: JSONValue = None
    unavailable: tuple[str, ...] = ()
    error: str = ""
    cost_usd: float | None = None
    retries: int = 0
    detail: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One envelope and its size as JSON; `cut` are the payloads that it leaves out."""

    envelope: JSONObject
    size: int
    cut: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return str(self.envelope["id"])


def trace_event(run: RunFacts) -> Event:
    said = _without_empty(
        {
            "id": run.trace_id,
            "timestamp": _time(run.started_at or run.sealed_at),
            "name": run.name,
            "input": run.input,
            "output": run.output,
            "sessionId": run.session[:200],
            "tags": list(run.tags),
            "environment": run.environment if _ENVIRONMENT.fullmatch(run.environment) else "",
            "metadata": {
                **run.metadata,
                "forkpoint": _without_empty(
                    {
                        "run": str(run.id),
                        "app": run.app,
                        "status": run.status,
                        "source": run.source,
                        "environment": run.environment,
                        **run.replay,
                    }
                ),
            },
        }
    )
    return _event("trace-create", said, run)


def step_event(step: StepFacts, run: RunFacts) -> Event:
    start = step.started_at or (run.started_at or run.sealed_at) + timedelta(milliseconds=step.no)
    took = timedelta(milliseconds=step.duration_ms or 0.0)
    body: JSONObject = {
        "id": str(step.id),
        "traceId": run.trace_id,
        "name": step.name or str(step.type),
        "startTime": _time(start),
        "endTime": _time(start + took),
        "level": _LEVELS.get(step.status, "DEFAULT"),
        "statusMessage": step.error,
        "parentObservationId": None if step.parent is None else str(step.parent),
        "input": step.input,
        "output": step.output,
        "metadata": _metadata(step),
    }
    if step.type is not StepType.MODEL:
        return _event("span-create", _without_empty(body), run)
    return _event("generation-create", _without_empty({**body, **_generation(step)}), run)


def _generation(step: StepFacts) -> JSONObject:
    given = step.input if isinstance(step.input, dict) else {}
    parameters = given.get("parameters")
    asked: JSONValue = {name: value for name, value in given.items() if name != "parameters"} or step.input
    output = step.output if isinstance(step.output, dict) else {}
    return {
        "model": step.model,
        "input": _openai(asked),
        "output": _openai(output.get("message", step.output)),
        "modelParameters": {name: _parameter(value) for name, value in parameters.items()}
        if isinstance(parameters, dict)
        else None,
        "usageDetails": _usage(step),
        "costDetails": None if step.cost_usd is None else {"total": step.cost_usd},
    }


def _usage(step: StepFacts) -> JSONObject | None:
    """OpenAI's words, which Langfuse takes apart itself, where both counts are known."""
    given, made, cached = step.tokens_in, step.tokens_out, step.tokens_cached
    if given is not None and made is not None:
        details: JSONObject = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
        return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made, **details}
    known = {"input": given, "output": made, "cached_tokens": cached}
    return {name: count for name, count in known.items() if count is not None} or None


def _metadata(step: StepFacts) -> JSONObject:
    output = step.output if isinstance(step.output, dict) and step.type is StepType.MODEL else {}
    said: JSONObject = {
        "step_type": str(step.type),
        "sequence_no": step.no,
        "status": str(step.status),
        "label": step.label,
        "reason": step.reason,
        "provider": step.provider,
        "tool_name": step.tool_name,
        "retries": step.retries or None,
        "finish_reason": output.get("finish_reason"),
        "detail": step.detail,
        "unavailable": list(step.unavailable),
        "timed": None if step.started_at is not None else False,
    }
    return _without_empty({"tool_use_id": step.call_id, "forkpoint": _without_empty(said)})


def _openai(value: JSONValue) -> JSONValue:
    """Messages with their tool calls in the shape that Langfuse shows as such."""
    if isinstance(value, list):
        return [_openai(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("messages"), list):
        tools = value.get("tools")
        named = {"tools": [_tool(tool) for tool in tools]} if isinstance(tools, list) else {}
        return {**value, **named, "messages": _openai(value["messages"])}
    if calls := Message(value).calls:
        return {**value, "tool_calls": [_call(call) for call in calls]}
    return value


def _call(call: JSONObject) -> JSONValue:
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    rest = {name: value for name, value in call.items() if name not in {"id", "name", "arguments"}}
    return {**rest, "id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": text}}


def _tool(tool: JSONValue) -> JSONValue:
    return {"type": "function", "function": tool} if isinstance(tool, dict) and "function" not in tool else tool


def _parameter(value: JSONValue) -> JSONValue:
    """Langfuse takes plain values and lists of texts; anything else goes as JSON."""
    plain = value is None or isinstance(value, str | int | float | bool)
    texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return value if plain or texts else json.dumps(value, ensure_ascii=False)


def _event(type: str, body: JSONObject, run: RunFacts) -> Event:
    key = f"{run.trace_id}/{body['id']}/{type}"
    id = str(uuid5(NAMESPACE_URL, f"forkpoint:{key}"))
    envelope: JSONObject = {"id": id, "type": type, "timestamp": _time(run.sealed_at), "body": body}
    size = len(as_json(envelope))
    if size <= MOST_BYTES:
        return Event(envelope=envelope, size=size)
    return _cut(envelope, body)


def _cut(envelope: JSONObject, body: JSONObject) -> Event:
    """An event that no request can carry goes without its largest payloads, and says so."""
    sizes = {name: len(as_json(body[name])) for name in (*_PLACES, "metadata") if name in body}
    cut: list[str] = []
    left = sum(sizes.values())
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if left <= MOST_BYTES // 2:
            break
        left -= sizes[name]
        cut.append(name)
        said = f"<left out: {sizes[name]} bytes are more than one request to Langfuse may have>"
        body = {**body, name: {"forkpoint": {"left_out": said}} if name == "metadata" else said}
    envelope = {**envelope, "body": body}
    return Event(envelope=envelope, size=len(as_json(envelope)), cut=tuple(cut))


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _without_empty(value: JSONObject) -> JSONObject:
    """Without what says nothing; an empty input or output says that it was empty."""
    return {name: item for name, item in value.items() if item not in (None, "", [], {}) or _is_payload(name, item)}


def _is_payload(name: str, item: JSONValue) -> bool:
    return name in _PLACES and item is not None
