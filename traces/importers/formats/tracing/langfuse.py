"""Langfuse ingestion batches: events in any order, updates merged into what they update.

A trace is a run; its observations are the steps. One trace is often spread over several requests, so files of one
import are read together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import as_text, normalize_messages
from traces.importers.common.model_calls import (
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_request,
    normalize_usage,
    parse_cost,
)
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    called_tool_names,
    container_type,
    match_calls,
    merge_records,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_list, require_object, text
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.tracing import langfuse_export, langfuse_scores

FORMAT = "langfuse"
_TYPES: Final = {
    "generation": StepType.MODEL,
    "tool": StepType.TOOL,
    "agent": StepType.AGENT,
    "retriever": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
    "guardrail": StepType.SAFETY,
    "evaluator": StepType.VALIDATOR,
}
_STEP_TYPES: Final = {str(member): member for member in StepType}
_STATUSES: Final = {str(member): member for member in StepStatus}
_OBSERVED: Final = frozenset(
    {
        "event",
        "span",
        "generation",
        "agent",
        "tool",
        "chain",
        "retriever",
        "evaluator",
        "embedding",
        "guardrail",
        "observation",
    }
)
_MAPPED: Final = frozenset(
    {
        "id",
        "traceId",
        "parentObservationId",
        "name",
        "startTime",
        "endTime",
        "input",
        "output",
        "level",
        "statusMessage",
        "model",
        "usage",
        "usageDetails",
        "costDetails",
        "kind",
    }
)
_TRACE_MAPPED: Final = frozenset(
    {"id", "name", "input", "output", "tags", "timestamp", "start_time", "end_time", "environment", "observationIds"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    kind: str  # trace, score, or the kind of an observation
    update: bool
    time: str
    body: JSONObject
    where: str


@dataclass(kw_only=True)
class _Trace:
    body: JSONObject = field(default_factory=dict)
    observations: dict[str, JSONObject] = field(default_factory=dict)
    scores: list[JSONValue] = field(default_factory=list)
    where: str = ""


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each trace; what updates are about may be in another file."""
    # Langfuse's own order: updates after creations, each by its time
    events = sorted(_read(sources), key=lambda event: (event.update, event.time))
    homes = {
        text(event.body["id"]): text(event.body["traceId"])
        for event in events
        if event.kind in _OBSERVED and event.body.get("traceId")
    }
    traces: dict[str, _Trace] = {}
    for event in events:
        _apply(event, traces, homes)
    without_steps: list[str] = []
    for trace_id, trace in traces.items():
        if (trace.body and not trace.body.get("observationIds")) or trace.observations:
            yield _run(trace_id, trace)
        elif trace.body:
            without_steps.append(trace_id)
        else:
            detail = f"only scores, of trace {trace_id}: import them together with the Langfuse batches of that trace"
            _refuse(trace_id, sources, detail)
    if without_steps:
        detail = f"only the ids of the observations of {len(without_steps)} traces, {without_steps[0]} the first"
        _refuse(without_steps[0], sources, f"{detail}: export each trace with its observations")


def keys(source: Source) -> set[str]:
    """The traces and observations that a file tells of: an update names its observation only."""
    return {key for event in _read([source]) for name in ("id", "traceId") if (key := text(event.body.get(name)))}


def _read(sources: Sequence[Source]) -> Iterator[_Event]:
    for source in sources:
        source.documents = list(langfuse_export.table_rows(source))
    return parse_records(sources, _events)


def _refuse(trace_id: str, sources: Sequence[Source], detail: str) -> None:
    problem = BadFile(detail, "/")
    for source in sources:
        if trace_id.encode() in source.data:
            source.problems.append(problem)


def _events(value: JSONValue, where: str) -> Iterator[_Event]:
    if langfuse_export.is_export(value):
        for record in langfuse_export.read(value, where):
            yield _event(obj(record.value), record.location)
        return
    body = obj(value)
    body = obj(body.get("json")) or body if "batch" not in body else body
    listed = body.get("batch")
    scores = value if isinstance(value, list) else obj(value).get("json")
    if listed is None and isinstance(scores, list):
        for at, each in enumerate(scores):
            yield _Event(
                kind="score", update=False, time="", body=require_object(each, f"{where}/{at}"), where=f"{where}/{at}"
            )
        return
    for at, each in enumerate(require_list(listed, f"{where}/batch")):
        yield _event(require_object(each, f"{where}/batch/{at}"), f"{where}/batch/{at}")


def _event(given: JSONObject, where: str) -> _Event:
    kind, _, verb = text(given.get("type")).rpartition("-")
    body = require_object(given.get("body"), f"{where}/body")
    if kind in _OBSERVED and not text(body.get("id")):
        raise BadFile("an observation without an id", f"{where}/body/id")
    if kind in _OBSERVED:
        _step({**body, "kind": kind}, frozenset(), where)
    return _Event(kind=kind, update=verb == "update", time=text(given.get("timestamp")), body=body, where=where)


def _apply(event: _Event, traces: dict[str, _Trace], homes: dict[str, str]) -> None:
    body = event.body
    key = text(body.get("id"))
    if event.kind == "trace":
        trace = traces.setdefault(key, _Trace(where=event.where))
        trace.body = merge_records(trace.body, body)
    elif event.kind == "score":
        traces.setdefault(text(body.get("traceId")), _Trace(where=event.where)).scores.append(
            {**({"timestamp": event.time} if event.time else {}), **body}
        )
    elif event.kind in _OBSERVED:
        # an update whose creation is in no file makes a run of its own rather than getting lost
        trace = traces.setdefault(homes.get(key, key), _Trace(where=event.where))
        kind = text(body.get("type")).lower() if event.kind == "observation" else event.kind
        known = trace.observations.get(key, {})
        trace.observations[key] = merge_records(known, {**body, "kind": known.get("kind") or kind})


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    observations = list(trace.observations.values())
    called = called_tool_names(
        _step(each, frozenset(), trace.where).output for each in observations if each["kind"] == "generation"
    )
    steps = [_step(each, called, trace.where) for each in observations]
    body = trace.body
    ours = _exported(body)
    if body and not ours:
        steps = [_root(trace_id, trace, steps), *(_below(step, trace_id) for step in steps)]
    tags = [text(tag) for tag in items(body.get("tags"))]
    rest = {key: value for key, value in body.items() if key not in _TRACE_MAPPED}
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=text(ours.get("app")) or ("krabs" if "krabs" in tags else app_name(body.get("name")) or FORMAT),
            format=FORMAT,
            name=text(body.get("name")),
            environment=text(body.get("environment")),
            tags=tags,
            metadata={**rest, "trace_name": body.get("name")},
            judgements=langfuse_scores.read_judgements(trace.scores),
        ),
        match_calls(_ordered(steps, observations, where=f"trace {trace_id}")),
        location=f"trace {trace_id}",
    )


def _ordered(
    steps: Sequence[RecordedStep], observations: Sequence[JSONObject], *, where: str
) -> Sequence[RecordedStep]:
    """In causal order, which Forkpoint's own exports number: the steps of a replay have times of two runs."""
    numbers = {text(each.get("id")): _exported(each).get("sequence_no") for each in observations}
    known = [numbers.get(step.key) for step in steps]
    if not all(isinstance(number, int) for number in known):
        return sort_causally(steps, location=where)
    return [step for _, step in sorted(zip(known, steps, strict=True), key=lambda pair: int(str(pair[0])))]


def _exported(given: JSONObject) -> JSONObject:
    """What Forkpoint wrote beside a trace or an observation that it exported."""
    return obj(obj(given.get("metadata")).get("forkpoint"))


def _root(trace_id: str, trace: _Trace, steps: list[RecordedStep]) -> RecordedStep:
    starts = [step.started_at for step in steps if step.started_at]
    ends = [end for step in steps if (end := step.ended_at or step.started_at)]
    own = parse_span(first(trace.body, "start_time", "timestamp"), None, f"{trace.where}/body/timestamp")
    times = Span(start=min([*starts, *([own.start] if own.start else [])], default=None), end=max(ends, default=None))
    return build_step(
        SpanFacts(
            key=trace_id,
            name=text(trace.body.get("name")) or "trace",
            type=StepType.AGENT,
            times=times,
            input=trace.body.get("input"),
            output=trace.body.get("output"),
        )
    )


def _below(step: RecordedStep, trace_id: str) -> RecordedStep:
    return replace(step, parent=trace_id) if step.parent is None else step


def _step(given: JSONObject, called: frozenset[str], where: str) -> RecordedStep:
    ours, kind = _exported(given), _type(given, called)
    usage = {**obj(given.get("usage")), **obj(given.get("usageDetails"))}
    counted = normalize_usage(usage, f"{where}/body/usage")
    cost = first(obj(given.get("costDetails")), "total")
    level, model = text(given.get("level")), text(given.get("model"))
    facts = SpanFacts(
        key=text(given.get("id")),
        name=text(given.get("name")),
        type=kind,
        parent=text(given.get("parentObservationId")) or None,
        times=parse_span(given.get("startTime"), given.get("endTime"), f"{where}/body"),
        failed=level == "ERROR",
        is_open=bool(given.get("startTime")) and not given.get("endTime") and given.get("kind") != "event",
        error=text(given.get("statusMessage")) or (as_text(given["output"]) if given.get("output") else "error"),
        input=given.get("input"),
        output=given.get("output"),
        model=model,
        provider=normalize_provider(None, model),
        call_id=_call_id(given),
        usage=counted,
        request=_request(given) if kind is StepType.MODEL else None,
        answer=normalize_answer(given.get("output"), text(ours.get("finish_reason")))
        if kind is StepType.MODEL
        else None,
        attributes={
            key: value for key, value in given.items() if key not in _MAPPED and value not in (None, "", [], {})
        },
    )
    step = build_step(facts)
    step = _as_exported(step, given, ours) if ours else step
    return replace(step, cost_usd=parse_cost(cost)) if cost is not None else step


def _type(given: JSONObject, called: frozenset[str]) -> StepType:
    """By its kind; a plain span is a tool's where a model called one of that name, or it names its call."""
    known = _TYPES.get(text(given.get("kind"))) or _STEP_TYPES.get(text(_exported(given).get("step_type")))
    if known is not None:
        return known
    name = text(given.get("name"))
    return StepType.TOOL if name in called or _call_id(given) else container_type(name)


def _call_id(given: JSONObject) -> str:
    return text(first(obj(given.get("metadata")), "tool_use_id", "tool_call_id"))


def _as_exported(step: RecordedStep, given: JSONObject, ours: JSONObject) -> RecordedStep:
    """A step as Forkpoint had it: what Langfuse has no word for stands in the metadata."""
    status = _STATUSES.get(text(ours.get("status")), step.status)
    untimed = ours.get("timed") is False
    plain = step.type is not StepType.MODEL
    retries = ours.get("retries")
    return replace(
        step,
        status=status,
        error=text(given.get("statusMessage")),
        input=given.get("input") if plain else step.input,
        output=given.get("output") if plain else step.output,
        provider=text(ours.get("provider")) or step.provider,
        tool_name=text(ours.get("tool_name")),
        retries=retries if isinstance(retries, int) else 0,
        started_at=None if untimed else step.started_at,
        ended_at=None if untimed else step.ended_at,
        attributes={key: value for key, value in step.attributes.items() if key != "metadata"},
    )


def _request(given: JSONObject) -> JSONObject | None:
    """The request, with the sampling parameters that Langfuse keeps beside it."""
    body = obj(given.get("input"))
    made = (
        normalize_request(body)
        if "messages" in body or "contents" in body
        else model_input(normalize_messages(given.get("input")), [], {})
    )
    parameters = normalize_parameters(obj(given.get("modelParameters")))
    if parameters:
        made["parameters"] = {**obj(made.get("parameters")), **parameters}
    return made if items(made["messages"]) else None
