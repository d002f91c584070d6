"""Canonical events: what the capture SDK writes, one event on a line, the runs of a file by their `run_id`.

A step is told in two events (`model_called` and `model_result`, `tool_called` and `tool_result`, `step_started` and
`step_finished`) or in one (`retrieval_executed`, `prompt_rendered`, the decisions, `final_output`), and stands where
its first event stands. The same event twice counts once; a step that never ended was cut off. A result without its
call, and anything after the end of a run, contradicts the recording, which is refused; only where events are known to
be lost are results kept whose calls are not there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import normalize_messages, normalize_tools
from traces.importers.common.model_calls import model_input, normalize_answer, normalize_parameters, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_object, text
from traces.importers.files.source import Source

FORMAT: Final = "forkpoint"
_TYPES: Final = {
    "model_called": StepType.MODEL,
    "model_result": StepType.MODEL,
    "tool_called": StepType.TOOL,
    "tool_result": StepType.TOOL,
    "retrieval_executed": StepType.RETRIEVAL,
    "prompt_rendered": StepType.PROMPT,
    "validator_decision": StepType.VALIDATOR,
    "safety_decision": StepType.SAFETY,
    "final_output": StepType.OUTPUT,
}
_GROUPS: Final = frozenset({"step_started", "step_finished"})
_RUN_EVENTS: Final = frozenset({"run_started", "input_received", "run_completed", "run_failed"})
_BEGINNINGS: Final = frozenset({"model_called", "tool_called", "step_started"})
_ENDINGS: Final = {"model_result": "model_called", "tool_result": "tool_called", "step_finished": "step_started"}
_RUN_ENDS: Final = frozenset({"run_completed", "run_failed"})
# The status of a run's redaction is the worst of its events'; one that is not known counts as blocked.
_REDACTION: Final = ("not_required", "redacted", "failed", "blocked")
_STATUS: Final = {
    "success": StepStatus.OK,
    "ok": StepStatus.OK,
    "error": StepStatus.ERROR,
    "timeout": StepStatus.TIMEOUT,
    "partial": StepStatus.PARTIAL,
    "denied": StepStatus.DENIED,
}
# What a payload says that has a place of its own in a step; the rest is kept as attributes.
_PLACED: Final = frozenset(
    {
        "name",
        "type",
        "input",
        "output",
        "status",
        "error",
        "latency_ms",
        "retries",
        "links",
        "attributes",
        "started_at",
        "provider",
        "model_id",
        "request",
        "response",
        "token_usage",
        "tool_name",
        "call_id",
        "args",
        "result",
        "retriever_id",
        "candidate_list",
        "candidate_count",
        "query",
        "top_k",
        "filters",
        "embedding_profile",
        "prompt_template_id",
        "prompt_template_version",
        "prompt_template",
        "prompt_variables",
        "rendered_prompt",
        "decision",
        "reasons",
        "citations",
        "response_channel",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    run_id: str
    step_id: str
    parent: str
    number: int
    type: str
    at: datetime | None
    payload: JSONObject
    raw: JSONObject
    where: str


@dataclass(kw_only=True, slots=True)
class _Told:
    """One step as far as its events told it: what began it and what ended it."""

    begun: _Event
    payload: JSONObject = field(default_factory=dict)
    last: _Event | None = None


def recognises(value: JSONValue) -> bool:
    """Whether a record looks like one of these events."""
    event = obj(value)
    known = text(event.get("event_type")) in {*_TYPES, *_GROUPS, *_RUN_EVENTS}
    return known and "run_id" in event and "payload" in event


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """The runs of some files; a run that contradicts itself is noted and left out."""
    by_run: dict[str, list[_Event]] = {}
    homes: dict[str, Source] = {}
    for source in sources:
        for event in _read(source):
            by_run.setdefault(event.run_id, []).append(event)
            homes.setdefault(event.run_id, source)
    lossy = any(source.problems for source in sources)
    for run_id, events in by_run.items():
        try:
            yield _run(_in_order(events), lossy=lossy)
        except BadFile as problem:
            homes[run_id].problems.append(problem)


def keys(source: Source) -> set[str]:
    """The runs that have events in a file."""
    return {event.run_id for event in _read(source)}


def _read(source: Source) -> Iterator[_Event]:
    for record, where in source.objects():
        try:
            yield _event(record, where)
        except BadFile as problem:
            source.problems.append(problem)


def _event(record: JSONObject, where: str) -> _Event:
    number, kind = record.get("sequence_no"), text(record.get("event_type"))
    if kind not in _TYPES and kind not in _GROUPS and kind not in _RUN_EVENTS:
        raise BadFile(f"{kind[:60]!r} is not an event type", f"{where}/event_type")
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise BadFile("a sequence number from 0 was expected", f"{where}/sequence_no")
    if not text(record.get("run_id")):
        raise BadFile("the event names no run", f"{where}/run_id")
    if kind not in _RUN_EVENTS and not text(record.get("step_id")):
        raise BadFile("the event names no step", f"{where}/step_id")
    return _Event(
        run_id=text(record.get("run_id")),
        step_id=text(record.get("step_id")),
        parent=text(record.get("parent_step_id")),
        number=number,
        type=kind,
        at=parse_time(record.get("timestamp_utc"), f"{where}/timestamp_utc"),
        payload=require_object(record.get("payload"), f"{where}/payload"),
        raw=record,
        where=where,
    )


def _in_order(events: Iterable[_Event]) -> list[_Event]:
    """By number, the same event once; two different events under one number contradict each other."""
    known: dict[int, _Event] = {}
    for event in events:
        other = known.setdefault(event.number, event)
        if other.raw != event.raw:
            raise BadFile(f"event {event.number} of run {event.run_id} is told twice, differently", event.where)
    return [known[number] for number in sorted(known)]


def _check_order(events: list[_Event], *, lossy: bool) -> None:
    """Refuse events after the end of the run, and, unless events were lost, results without their calls."""
    begun: set[str] = set()
    over: _Event | None = None
    for event in events:
        if over is not None:
            raise BadFile(f"event {event.number}, {event.type}, comes after {over.type} of its run", event.where)
        wanted = _ENDINGS.get(event.type)
        if wanted and event.step_id not in begun and not lossy:
            raise BadFile(
                f"event {event.number}, {event.type} of step {event.step_id}, has no {wanted} before it", event.where
            )
        if event.type in _BEGINNINGS:
            begun.add(event.step_id)
        over = event if event.type in _RUN_ENDS else None


def _redaction(events: Iterable[_Event], of_run: JSONValue) -> str:
    """The worst redaction status of a run and its events; empty where nothing was redacted."""
    stated = {
        text(status or _REDACTION[0]) for status in (of_run, *(each.raw.get("redaction_status") for each in events))
    }
    if not stated <= set(_REDACTION):
        return "blocked"
    return next((status for status in reversed(_REDACTION[1:]) if status in stated), "")


def _run(events: list[_Event], *, lossy: bool) -> RecordedRun:
    begun = next((event for event in events if event.type == "run_started"), None)
    ended = next((event for event in reversed(events) if event.type in _RUN_ENDS), None)
    asked = next((event.payload.get("input") for event in events if event.type == "input_received"), None)
    said, end = begun.payload if begun else {}, ended.payload if ended else {}
    _check_order(events, lossy=lossy or bool(end.get("dropped_events")))
    facts = RunFacts(
        external_id=events[0].run_id,
        app=text(said.get("app_id")),
        format=FORMAT,
        title=text(said.get("name")),
        name=text(said.get("entrypoint_name")),
        environment=text(said.get("environment")),
        failed=ended is None or ended.type == "run_failed",
        tags=[text(tag) for tag in items(said.get("tags"))],
        metadata={
            **_metadata(said, end, asked, cut_off=ended is None),
            "redaction_status": _redaction(events, obj(said.get("metadata")).get("redaction_status")),
        },
        started_at=begun.at if begun else events[0].at,
        ended_at=ended.at if ended else events[-1].at,
    )
    return build_run(facts, [_step(told) for told in _steps(events)], location=events[0].where)


def _metadata(said: JSONObject, end: JSONObject, asked: JSONValue, *, cut_off: bool) -> JSONObject:
    return {
        **obj(said.get("metadata")),
        "input": asked,
        "output": end.get("output"),
        "error": "the recording ends before the run did" if cut_off else end.get("error"),
        "dropped_events": end.get("dropped_events"),
    }


def _steps(events: list[_Event]) -> list[_Told]:
    """The steps in the order of their first events; what an ending says comes after what a beginning said."""
    told: dict[str, _Told] = {}
    for event in events:
        if event.type in _RUN_EVENTS:
            continue
        step = told.setdefault(event.step_id, _Told(begun=event))
        step.payload |= event.payload
        if event.type not in _BEGINNINGS:
            step.last = event
    return list(told.values())


def _step(told: _Told) -> RecordedStep:
    event, payload = told.begun, told.payload
    kind = _TYPES.get(event.type) or _group_type(payload, event.where)
    given, output = _payloads(kind, payload)
    usage = normalize_usage(obj(payload.get("token_usage")), f"{event.where}/payload/token_usage")
    answer = normalize_answer(payload.get("response")) if kind is StepType.MODEL else None
    counted = answer.usage if answer and usage.tokens_in is None and usage.tokens_out is None else usage
    started = parse_time(payload.get("started_at"), event.where) or event.at
    return RecordedStep(
        key=event.step_id,
        type=kind,
        name=_name(kind, payload),
        parent=event.parent or None,
        status=_status(told),
        started_at=started,
        ended_at=add_milliseconds(started, payload.get("latency_ms")),
        input=given,
        output=answer.output if answer else output,
        null_output=_returned_null(kind, told),
        error=text(payload.get("error")),
        provider=text(payload.get("provider")),
        model=text(payload.get("model_id")),
        tool_name=text(payload.get("tool_name")) if kind is StepType.TOOL else "",
        call_id=text(payload.get("call_id")),
        tokens_in=counted.tokens_in,
        tokens_out=counted.tokens_out,
        tokens_cached=counted.tokens_cached,
        retries=_retries(payload.get("retries")),
        links=tuple(text(link) for link in items(payload.get("links"))),
        attributes=_attributes(told),
    )


def _attributes(told: _Told) -> JSONObject:
    """What no other field of a step holds."""
    known: JSONObject = {**obj(told.payload.get("attributes"))}
    known |= {key: value for key, value in told.payload.items() if key not in _PLACED}
    return {**known, "call_not_recorded": True} if told.begun.type in _ENDINGS else known


def _group_type(payload: JSONObject, where: str) -> StepType:
    """The type of a step that only groups others; a name that is none of ours is an agent's own."""
    given = text(payload.get("type"))
    if not given:
        raise BadFile("the step has no type", f"{where}/payload/type")
    return StepType(given) if given in StepType.__members__.values() else StepType.AGENT


def _payloads(kind: StepType, payload: JSONObject) -> tuple[JSONValue, JSONValue]:
    """A step's input and output in their common shapes."""
    if kind is StepType.MODEL:
        return _request(payload.get("request")), None
    if kind is StepType.TOOL:
        return payload.get("args"), payload.get("result")
    if kind is StepType.RETRIEVAL:
        asked: JSONObject = {
            key: payload[key] for key in ("query", "top_k", "filters", "embedding_profile") if key in payload
        }
        return asked, {"documents": [_document(item) for item in items(payload.get("candidate_list"))]}
    if kind is StepType.PROMPT:
        return _template(payload), {"text": payload.get("rendered_prompt")}
    if kind is StepType.OUTPUT and "decision" not in payload and "response_channel" in payload:
        return payload.get("input"), _said(payload)
    if "decision" in payload:
        return payload.get("input"), _decision(payload)
    return payload.get("input"), payload.get("output")


def _request(request: JSONValue) -> JSONValue:
    given = obj(request)
    if "messages" not in given:
        return request
    parameters = normalize_parameters(obj(given.get("parameters")))
    return model_input(
        normalize_messages(given["messages"]),
        normalize_tools(given.get("tools") or []),
        parameters,
        given.get("response_format"),
    )


def _template(payload: JSONObject) -> JSONObject:
    named = {
        "template": payload.get("prompt_template"),
        "template_id": payload.get("prompt_template_id"),
        "version": payload.get("prompt_template_version"),
        "variables": payload.get("prompt_variables"),
    }
    return {key: value for key, value in named.items() if value not in (None, "", {})}


def _document(item: JSONValue) -> JSONValue:
    """A retrieved document: `{id, content, score?, metadata?}`; a bare text is its content."""
    return {"content": item} if isinstance(item, str) else item


def _said(payload: JSONObject) -> JSONValue:
    output, citations = payload.get("output"), payload.get("citations")
    said: JSONValue = {"text": output} if isinstance(output, str) else output
    return {**said, "citations": citations} if citations and isinstance(said, dict) else said


def _decision(payload: JSONObject) -> JSONObject:
    decided: JSONObject = {"decision": payload.get("decision"), "reasons": payload.get("reasons") or []}
    return {**decided, "output": payload["output"]} if "output" in payload else decided


def _name(kind: StepType, payload: JSONObject) -> str:
    given = first(payload, "name", "tool_name", "retriever_id", "prompt_template_id")
    return text(given) or kind.value


def _status(told: _Told) -> StepStatus:
    if told.last is None:
        return StepStatus.PARTIAL
    return _STATUS.get(text(told.payload.get("status")) or "success", StepStatus.ERROR)


def _returned_null(kind: StepType, told: _Told) -> bool:
    """Whether a tool was called and answered with nothing, as functions without a `return` do."""
    payload = told.payload
    return kind is StepType.TOOL and _status(told) is StepStatus.OK and payload.get("result", "") is None


def _retries(value: JSONValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**15 else 0
