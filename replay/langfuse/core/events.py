"""Converts a stored run to events of Langfuse's ingestion API. Pure.

An event contains all data of its object, and its id is derived from it, so sending it again has no effect.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from replay.core.values.json_output import as_json
from traces.core.json_access import as_list, as_object, has_list, has_object, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import StepHeader, step_view
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import Message

MOST_BYTES: Final = 3_500_000  # per request; Langfuse accepts 4.5 MB
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
    """The data of a run's trace.

    `sealed_at` is the time of every event, so that repeated events are equal.
    """

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
    # Source of a replay.
    replay: JSONObject = field(default_factory=dict)

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
    """One envelope and its size as JSON; `cut` names the payloads that were omitted."""

    envelope: JSONObject
    size: int
    cut: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return str(self.envelope["id"])


def trace_event(run: RunFacts) -> Event:
    body = _without_empty(
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
    return _event("trace-create", body, run)


def step_event(step: StepFacts, run: RunFacts) -> Event:
    start = step.started_at or (run.started_at or run.sealed_at) + timedelta(milliseconds=step.no)
    duration = timedelta(milliseconds=step.duration_ms or 0.0)
    body: JSONObject = {
        "id": str(step.id),
        "traceId": run.trace_id,
        "name": step.name or str(step.type),
        "startTime": _time(start),
        "endTime": _time(start + duration),
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
    input = as_object(step.input)
    request: JSONValue = {name: value for name, value in input.items() if name != "parameters"} or step.input
    output = as_object(step.output)
    return {
        "model": step.model,
        "input": _openai(request),
        "output": _openai(output.get("message", step.output)),
        "modelParameters": {name: _parameter(value) for name, value in as_object(input["parameters"]).items()}
        if has_object(input, "parameters")
        else None,
        "usageDetails": _usage(step),
        "costDetails": None if step.cost_usd is None else {"total": step.cost_usd},
    }


def _usage(step: StepFacts) -> JSONObject | None:
    """Return token counts, in OpenAI's format (which Langfuse parses) if both counts are known."""
    tokens_in, tokens_out, cached = step.tokens_in, step.tokens_out, step.tokens_cached
    if tokens_in is not None and tokens_out is not None:
        details: JSONObject = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
        return {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
            **details,
        }
    counts = {"input": tokens_in, "output": tokens_out, "cached_tokens": cached}
    return {name: count for name, count in counts.items() if count is not None} or None


def _metadata(step: StepFacts) -> JSONObject:
    output = as_object(step.output) if step.type is StepType.MODEL else {}
    details: JSONObject = {
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
    return _without_empty({"tool_use_id": step.call_id, "forkpoint": _without_empty(details)})


def _openai(value: JSONValue) -> JSONValue:
    """Convert messages with tool calls to the format that Langfuse renders as tool calls."""
    if isinstance(value, list):
        return [_openai(item) for item in value]
    if not isinstance(value, dict):
        return value
    if has_list(value, "messages"):
        tools_entry = {"tools": [_tool(tool) for tool in as_list(value["tools"])]} if has_list(value, "tools") else {}
        return {**value, **tools_entry, "messages": _openai(value["messages"])}
    if calls := Message(value).calls:
        return {**value, "tool_calls": [_call(call) for call in calls]}
    return value


def _call(call: JSONObject) -> JSONValue:
    arguments = call.get("arguments")
    text = text_or_json(arguments)
    rest = {name: value for name, value in call.items() if name not in {"id", "name", "arguments"}}
    return {**rest, "id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": text}}


def _tool(tool: JSONValue) -> JSONValue:
    return {"type": "function", "function": tool} if isinstance(tool, dict) and "function" not in tool else tool


def _parameter(value: JSONValue) -> JSONValue:
    """Convert a model parameter to a plain value, a list of strings, or JSON, as Langfuse requires."""
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
    """Replace the largest payloads of an event that is too large for a request with a note."""
    sizes = {name: len(as_json(body[name])) for name in (*_PLACES, "metadata") if name in body}
    cut: list[str] = []
    remaining = sum(sizes.values())
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if remaining <= MOST_BYTES // 2:
            break
        remaining -= sizes[name]
        cut.append(name)
        note = f"<omitted: {sizes[name]} bytes exceed the size limit of a request to Langfuse>"
        body = {**body, name: {"forkpoint": {"left_out": note}} if name == "metadata" else note}
    envelope = {**envelope, "body": body}
    return Event(envelope=envelope, size=len(as_json(envelope)), cut=tuple(cut))


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _without_empty(value: JSONObject) -> JSONObject:
    """Remove empty values, except an empty input or output, which is information."""
    return {name: item for name, item in value.items() if item not in (None, "", [], {}) or _is_payload(name, item)}


def _is_payload(name: str, item: JSONValue) -> bool:
    return name in _PLACES and item is not None
