"""Canonical events of the capture SDK: one event per line, grouped into runs by `run_id`.

A step has two events (`model_called` and `model_result`, `tool_called` and `tool_result`, `step_started` and
`step_finished`) or one (`retrieval_executed`, `prompt_rendered`, the decisions, `final_output`). Its position is that
of its first event. Identical events count once. A step without an end event was cut off. Events after the end of a
run, and results without their calls, are contradictions: such a file is refused, unless events are known to be lost.
Of events that arrived over the network, and were acknowledged, nothing is left out: see `parse_arrivals`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import with_answer
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.tracing.client_calls import (
    SharedMessages,
    client_attributes,
    model_answer,
    model_request,
    tool_fields,
)
from traces.importers.formats.tracing.event_lines import (
    EXIT_CODE,
    FORMAT,
    RUN_ENDS,
    RUN_EVENTS,
    STEP_TYPES,
    Event,
    read_event,
)
from traces.importers.formats.tracing.reported_tools import find_inferred, join_dialogues, replace_inferred
from traces.importers.formats.tracing.stored_conversations import link_conversations

_BEGINNINGS: Final = frozenset({"model_called", "tool_called", "step_started"})
_ENDINGS: Final = {"model_result": "model_called", "tool_result": "tool_called", "step_finished": "step_started"}
# Redaction statuses from best to worst. A run has the worst of its events; an unknown status counts as blocked.
_REDACTION: Final = ("not_required", "redacted", "failed", "blocked")
_STATUS: Final = {
    "success": StepStatus.OK,
    "ok": StepStatus.OK,
    "error": StepStatus.ERROR,
    "timeout": StepStatus.TIMEOUT,
    "partial": StepStatus.PARTIAL,
    "denied": StepStatus.DENIED,
}
# Payload fields that a step has fields for; all others become attributes.
_MAPPED_FIELDS: Final = frozenset(
    {"name", "type", "input", "output", "status", "error", "latency_ms", "retries", "links", "attributes"}
    | {"started_at", "provider", "model_id", "api", "request", "response", "token_usage", "tool_name"}
    | {"call_id", "args", "result", "retriever_id", "candidate_list", "candidate_count", "query", "top_k"}
    | {"filters", "embedding_profile", "prompt_template_id", "prompt_template_version", "prompt_template"}
    | {"prompt_variables", "rendered_prompt", "decision", "reasons", "citations", "response_channel"}
)


@dataclass(kw_only=True, slots=True)
class _StepEvents:
    """The events of one step: the first one, the merged payload, and the last one that ends it."""

    first_event: Event
    payload: JSONObject = field(default_factory=dict)
    end_event: Event | None = None


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of several files; a contradictory run becomes a problem instead."""
    by_run, homes = _events_by_run(sources)
    lossy = any(source.problems for source in sources)
    for run_id, events in by_run.items():
        try:
            yield _run(_sort_events(events), None, lossy=lossy)
        except BadFile as problem:
            homes[run_id].problems.append(problem)


def parse_arrivals(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of events that were acknowledged; contradictions become problems beside the run.

    Of two different events with one number, the first counts. A step that cannot be read keeps its payload as it came.
    """
    by_run, homes = _events_by_run(sources)
    for run_id, events in by_run.items():
        problems = homes[run_id].problems
        yield _run(_sort_events(events, problems), problems, lossy=any(source.problems for source in sources))


def _events_by_run(sources: Sequence[Source]) -> tuple[dict[str, list[Event]], dict[str, Source]]:
    """Return the events of each run, and the source of its first one."""
    by_run: dict[str, list[Event]] = {}
    homes: dict[str, Source] = {}
    messages = SharedMessages()
    for source in sources:
        for event in _read_events(source, messages):
            by_run.setdefault(event.run_id, []).append(event)
            homes.setdefault(event.run_id, source)
    return by_run, homes


def keys(source: Source) -> set[str]:
    """Return the ids of the runs that have events in a file."""
    return {event.run_id for event in _read_events(source)}


def _read_events(source: Source, messages: SharedMessages | None = None) -> Iterator[Event]:
    for record, location in source.objects():
        try:
            event = read_event(record, location)
        except BadFile as problem:
            source.problems.append(problem)
            continue
        if messages is not None:
            messages.share(event.payload.get("request"))
        yield event


def _report(problem: BadFile, problems: list[BadFile] | None) -> None:
    """Note a problem; raise it if there is no list of problems."""
    if problems is None:
        raise problem
    problems.append(problem)


def _sort_events(events: Iterable[Event], problems: list[BadFile] | None = None) -> list[Event]:
    """Sort by number and drop repeated events. Different events with the same number are a problem."""
    by_number: dict[int, Event] = {}
    for event in events:
        first_event = by_number.setdefault(event.number, event)
        if first_event.raw != event.raw:
            detail = f"run {event.run_id} has two different events with number {event.number}"
            _report(BadFile(f"{detail}: {first_event.title} and {event.title}", event.location), problems)
    return [by_number[number] for number in sorted(by_number)]


def _check_order(events: list[Event], problems: list[BadFile] | None, *, lossy: bool) -> None:
    """Report events after the end of the run and, unless events were lost, results without their calls."""
    started_steps: set[str] = set()
    run_end: Event | None = None
    for event in events:
        if run_end is not None:
            detail = f"event {event.number}, {event.type}, comes after {run_end.type} of its run"
            _report(BadFile(detail, event.location), problems)
        call_type = _ENDINGS.get(event.type)
        if call_type and event.step_id not in started_steps and not lossy:
            detail = f"event {event.number}, {event.type} of step {event.step_id}, has no {call_type} before it"
            _report(BadFile(detail, event.location), problems)
        if event.type in _BEGINNINGS:
            started_steps.add(event.step_id)
        run_end = event if event.type in RUN_ENDS else run_end


def _redaction(events: Iterable[Event], run_status: JSONValue) -> str:
    """Return the worst redaction status of a run and its events; empty if nothing was redacted."""
    statuses = {
        as_text(status or _REDACTION[0])
        for status in (run_status, *(event.raw.get("redaction_status") for event in events))
    }
    if not statuses <= set(_REDACTION):
        return "blocked"
    return next((status for status in reversed(_REDACTION[1:]) if status in statuses), "")


def _run(events: list[Event], problems: list[BadFile] | None, *, lossy: bool) -> RecordedRun:
    """Build a run; without a list of `problems`, raise the first one."""
    starts = [event for event in events if event.type == "run_started"]
    end_event = next((event for event in reversed(events) if event.type in RUN_ENDS), None)
    # The server may have opened the run for a client that then describes it itself.
    start: JSONObject = {name: value for event in starts for name, value in event.payload.items()}
    end: JSONObject = end_event.payload if end_event else {}
    inputs = (event.payload.get("input") for event in events if event.type == "input_received")
    input_value = next(inputs, start.get("input"))
    inferred_keys = find_inferred(event.raw for event in events)
    # The end of a run of the gateway does not say what the SDK lost.
    _check_order(events, problems, lossy=lossy or bool(end.get("dropped_events") or inferred_keys))
    facts = RunFacts(
        external_id=events[0].run_id,
        app=as_text(start.get("app_id")),
        format=FORMAT,
        title=as_text(start.get("name")),
        name=as_text(start.get("entrypoint_name")),
        environment=as_text(start.get("environment")),
        failed=end_event is not None and end_event.type == "run_failed",
        # Only the gateway records it. An SDK's run also ends well where it knows of no agent.
        has_succeeded=end.get(EXIT_CODE) == 0,
        has_ended=end_event is not None,
        tags=[as_text(tag) for tag in as_list(start.get("tags"))],
        metadata={
            **_metadata(start, end, input_value, cut_off=end_event is None),
            "redaction_status": _redaction(events, as_object(start.get("metadata")).get("redaction_status")),
        },
        started_at=next((event.at for event in starts if event.at), None if starts else events[0].at),
        ended_at=end_event.at if end_event else events[-1].at,
    )
    steps = link_conversations(replace_inferred(join_dialogues([*_build_steps(events, problems)]), inferred_keys))
    # What the run returned, if that is a text: other results are data for the program.
    if end_event is not None and not facts.failed and isinstance(answer := end.get("output"), str):
        steps = with_answer(steps, answer, None, end_event.at)
    if not steps and problems is not None:
        return _run_without_steps(facts, end_event)
    return build_run(facts, steps, location=events[0].location)


def _metadata(start: JSONObject, end: JSONObject, input_value: JSONValue, *, cut_off: bool) -> JSONObject:
    return {
        **as_object(start.get("metadata")),
        "input": input_value,
        "output": end.get("output"),
        "error": "the recording ends before the run did" if cut_off else end.get("error"),
        "dropped_events": end.get("dropped_events"),
        EXIT_CODE: end.get(EXIT_CODE) or None,
    }


def _steps(events: list[Event]) -> list[_StepEvents]:
    """Group events by step, in the order of first events. Later fields of payloads and attributes replace others."""
    by_id: dict[str, _StepEvents] = {}
    for event in events:
        if event.type in RUN_EVENTS:
            continue
        step = by_id.setdefault(event.step_id, _StepEvents(first_event=event))
        step.payload |= _union(step.payload, event.payload)
        if event.type not in _BEGINNINGS:
            step.end_event = event
    return list(by_id.values())


def _union(earlier: JSONObject, later: JSONObject) -> JSONObject:
    """Return the later payload with the attributes of both: what is known of a request stays if its answer has some."""
    if "attributes" not in later or "attributes" not in earlier:
        return later
    return {**later, "attributes": {**as_object(earlier["attributes"]), **as_object(later["attributes"])}}


def _run_without_steps(facts: RunFacts, end_event: Event | None) -> RecordedRun:
    """Return a run of which no step has arrived. If it has ended with an output, that is its only step."""
    end: JSONObject = end_event.payload if end_event else {}
    if end.get("output") is None and not end.get("error"):
        return RecordedRun(external_id=facts.external_id, name=facts.external_id, app=FORMAT, format=FORMAT, steps=())
    output = RecordedStep(
        key="output",
        type=StepType.OUTPUT,
        name="final output",
        status=StepStatus.ERROR if facts.failed else StepStatus.OK,
        output={"text": result} if isinstance(result := end.get("output"), str) else result,
        error=as_text(end.get("error")),
    )
    return build_run(facts, [output])


def _build_steps(events: list[Event], problems: list[BadFile] | None) -> Iterator[RecordedStep]:
    """Yield the steps. Their requests are normalised, and share messages again one by one: together, they take much."""
    messages = SharedMessages()
    for step_events in _steps(events):
        step = _build_step(step_events, problems)
        messages.share(step.input)
        yield step


def _build_step(step_events: _StepEvents, problems: list[BadFile] | None) -> RecordedStep:
    """Build a step; one that cannot be read has its payload as it came, in its attributes."""
    try:
        return _step(step_events)
    except BadFile as problem:
        _report(problem, problems)
        event = step_events.first_event
        return RecordedStep(
            key=event.step_id,
            type=STEP_TYPES.get(event.type, StepType.AGENT),
            name=as_text(step_events.payload.get("name")) or event.type,
            parent=event.parent or None,
            status=_status(step_events),
            started_at=event.at,
            attributes={"problem": str(problem), "payload": step_events.payload},
        )


def _step(step_events: _StepEvents) -> RecordedStep:
    event, tool = step_events.first_event, tool_fields(step_events.payload)
    payload = {**step_events.payload, **tool}
    kind = StepType.TOOL if tool else STEP_TYPES.get(event.type) or _group_type(payload, event.location)
    step_input, output = _payloads(kind, payload)
    usage = normalize_usage(as_object(payload.get("token_usage")), f"{event.location}/payload/token_usage")
    answer = model_answer(payload) if kind is StepType.MODEL else None
    counts = answer.usage if answer and usage.tokens_in is None and usage.tokens_out is None else usage
    started_at = parse_time(payload.get("started_at"), event.location) or event.at
    return RecordedStep(
        key=event.step_id,
        type=kind,
        name=_name(kind, payload),
        parent=event.parent or None,
        status=_status(step_events),
        started_at=started_at,
        ended_at=add_milliseconds(started_at, payload.get("latency_ms")),
        input=step_input,
        output=answer.output if answer else output,
        null_output=_is_null_result(kind, step_events),
        error=as_text(payload.get("error")),
        provider=as_text(payload.get("provider")),
        model=as_text(payload.get("model_id")),
        tool_name=as_text(payload.get("tool_name")) if kind is StepType.TOOL else "",
        call_id=as_text(payload.get("call_id")),
        tokens_in=counts.tokens_in,
        tokens_out=counts.tokens_out,
        tokens_cached=counts.tokens_cached,
        retries=_retries(payload.get("retries")),
        links=tuple(as_text(link) for link in as_list(payload.get("links"))),
        attributes=_attributes(step_events),
    )


def _attributes(step_events: _StepEvents) -> JSONObject:
    """Return the payload fields that no field of the step contains."""
    attributes: JSONObject = {**as_object(step_events.payload.get("attributes"))}
    attributes |= {key: value for key, value in step_events.payload.items() if key not in _MAPPED_FIELDS}
    attributes |= client_attributes(step_events.payload)
    return {**attributes, "call_not_recorded": True} if step_events.first_event.type in _ENDINGS else attributes


def _group_type(payload: JSONObject, location: str) -> StepType:
    """Return the type of a step that only groups others; an unknown name means an agent."""
    name = as_text(payload.get("type"))
    if not name:
        raise BadFile("the step has no type", f"{location}/payload/type")
    return StepType(name) if name in StepType.__members__.values() else StepType.AGENT


def _payloads(kind: StepType, payload: JSONObject) -> tuple[JSONValue, JSONValue]:
    """Return a step's input and output in their common shapes."""
    if kind is StepType.MODEL:
        return model_request(payload), None
    if kind is StepType.TOOL:
        return payload.get("args"), payload.get("result")
    if kind is StepType.RETRIEVAL:
        query: JSONObject = {
            key: payload[key] for key in ("query", "top_k", "filters", "embedding_profile") if key in payload
        }
        return query, {"documents": [_document(item) for item in as_list(payload.get("candidate_list"))]}
    if kind is StepType.PROMPT:
        return _template(payload), {"text": payload.get("rendered_prompt")}
    if kind is StepType.OUTPUT and "decision" not in payload and "response_channel" in payload:
        return payload.get("input"), _output_text(payload)
    if "decision" in payload:
        return payload.get("input"), _decision(payload)
    return payload.get("input"), payload.get("output")


def _template(payload: JSONObject) -> JSONObject:
    fields = {
        "template": payload.get("prompt_template"),
        "template_id": payload.get("prompt_template_id"),
        "version": payload.get("prompt_template_version"),
        "variables": payload.get("prompt_variables"),
    }
    return {key: value for key, value in fields.items() if value not in (None, "", {})}


def _document(item: JSONValue) -> JSONValue:
    """Return a retrieved document as `{id, content, score?, metadata?}`; a plain text becomes its content."""
    return {"content": item} if isinstance(item, str) else item


def _output_text(payload: JSONObject) -> JSONValue:
    output, citations = payload.get("output"), payload.get("citations")
    result: JSONValue = {"text": output} if isinstance(output, str) else output
    return {**result, "citations": citations} if citations and isinstance(result, dict) else result


def _decision(payload: JSONObject) -> JSONObject:
    decision: JSONObject = {"decision": payload.get("decision"), "reasons": payload.get("reasons") or []}
    return {**decision, "output": payload["output"]} if "output" in payload else decision


def _name(kind: StepType, payload: JSONObject) -> str:
    name = first_member(payload, "name", "tool_name", "retriever_id", "prompt_template_id", "model_id")
    return as_text(name) or kind.value


def _status(step_events: _StepEvents) -> StepStatus:
    if step_events.end_event is None:
        return StepStatus.PARTIAL
    return _STATUS.get(as_text(step_events.payload.get("status")) or "success", StepStatus.ERROR)


def _is_null_result(kind: StepType, step_events: _StepEvents) -> bool:
    """Return whether a successful tool call returned null, as functions without a `return` do."""
    payload = step_events.payload
    return kind is StepType.TOOL and _status(step_events) is StepStatus.OK and payload.get("result", "") is None


def _retries(value: JSONValue) -> int:
    return value if is_integer(value) and 0 <= value < 2**15 else 0
