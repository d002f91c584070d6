"""Langfuse ingestion batches: events in any order, with updates merged into their observations.

A trace is a run, and its observations are the steps. A trace often spans several requests, so the files of an import
are read together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import normalize_messages, result_text
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
from traces.importers.files.json_reader import require_list, require_object
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
_OBSERVATION_KINDS: Final = frozenset(
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
_MAPPED_FIELDS: Final = frozenset(
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
_TRACE_FIELDS: Final = frozenset(
    {"id", "name", "input", "output", "tags", "timestamp", "start_time", "end_time", "environment", "observationIds"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    # `trace`, `score`, or the kind of an observation.
    kind: str
    is_update: bool
    time: str
    body: JSONObject
    location: str


@dataclass(kw_only=True)
class _Trace:
    body: JSONObject = field(default_factory=dict)
    observations: dict[str, JSONObject] = field(default_factory=dict)
    scores: list[JSONValue] = field(default_factory=list)
    location: str = ""


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace. An update and its observation may be in different files."""
    # Langfuse's own order: creations, then updates, both by time.
    events = sorted(_read_events(sources), key=lambda event: (event.is_update, event.time))
    homes = {
        as_text(event.body["id"]): as_text(event.body["traceId"])
        for event in events
        if event.kind in _OBSERVATION_KINDS and event.body.get("traceId")
    }
    traces: dict[str, _Trace] = {}
    for event in events:
        _apply_event(event, traces, homes)
    without_steps: list[str] = []
    for trace_id, trace in traces.items():
        if (trace.body and not trace.body.get("observationIds")) or trace.observations:
            yield _run(trace_id, trace)
        elif trace.body:
            without_steps.append(trace_id)
        else:
            detail = f"only scores of trace {trace_id}: import them together with the Langfuse batches of that trace"
            _refuse(trace_id, sources, detail)
    if without_steps:
        detail = f"only observation ids for {len(without_steps)} trace(s), for example {without_steps[0]}"
        _refuse(without_steps[0], sources, f"{detail}: export each trace with its observations")


def keys(source: Source) -> set[str]:
    """Return the ids of the traces and observations in a file; an update has only that of its observation."""
    ids = (as_text(event.body.get(name)) for event in _read_events([source]) for name in ("id", "traceId"))
    return {key for key in ids if key}


def _read_events(sources: Sequence[Source]) -> Iterator[_Event]:
    for source in sources:
        source.documents = list(langfuse_export.table_rows(source))
    return parse_records(sources, _events)


def _refuse(trace_id: str, sources: Sequence[Source], detail: str) -> None:
    problem = BadFile(detail, "/")
    for source in sources:
        if trace_id.encode() in source.data:
            source.problems.append(problem)


def _events(value: JSONValue, location: str) -> Iterator[_Event]:
    if langfuse_export.is_export(value):
        for record in langfuse_export.read_events(value, location):
            yield _event(as_object(record.value), record.location)
        return
    body = as_object(value)
    body = as_object(body.get("json")) or body if "batch" not in body else body
    batch = body.get("batch")
    scores = value if isinstance(value, list) else as_object(value).get("json")
    if batch is None and isinstance(scores, list):
        for index, item in enumerate(scores):
            score = require_object(item, f"{location}/{index}")
            yield _Event(kind="score", is_update=False, time="", body=score, location=f"{location}/{index}")
        return
    for index, item in enumerate(require_list(batch, f"{location}/batch")):
        yield _event(require_object(item, f"{location}/batch/{index}"), f"{location}/batch/{index}")


def _event(event: JSONObject, location: str) -> _Event:
    kind, _, verb = as_text(event.get("type")).rpartition("-")
    body = require_object(event.get("body"), f"{location}/body")
    if kind in _OBSERVATION_KINDS and not as_text(body.get("id")):
        raise BadFile("an observation without an id", f"{location}/body/id")
    if kind in _OBSERVATION_KINDS:
        _step({**body, "kind": kind}, frozenset(), location)
    return _Event(
        kind=kind, is_update=verb == "update", time=as_text(event.get("timestamp")), body=body, location=location
    )


def _apply_event(event: _Event, traces: dict[str, _Trace], homes: dict[str, str]) -> None:
    body = event.body
    key = as_text(body.get("id"))
    if event.kind == "trace":
        trace = traces.setdefault(key, _Trace(location=event.location))
        trace.body = merge_records(trace.body, body)
    elif event.kind == "score":
        traces.setdefault(as_text(body.get("traceId")), _Trace(location=event.location)).scores.append(
            {**({"timestamp": event.time} if event.time else {}), **body}
        )
    elif event.kind in _OBSERVATION_KINDS:
        # An update whose creation is in no file becomes a separate run.
        trace = traces.setdefault(homes.get(key, key), _Trace(location=event.location))
        kind = as_text(body.get("type")).lower() if event.kind == "observation" else event.kind
        earlier = trace.observations.get(key, {})
        trace.observations[key] = merge_records(earlier, {**body, "kind": earlier.get("kind") or kind})


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    observations = list(trace.observations.values())
    tool_names = called_tool_names(
        _step(observation, frozenset(), trace.location).output
        for observation in observations
        if observation["kind"] == "generation"
    )
    steps = [_step(observation, tool_names, trace.location) for observation in observations]
    body = trace.body
    own_metadata = _forkpoint_metadata(body)
    if body and not own_metadata:
        steps = [_root(trace_id, trace, steps), *(_under_root(step, trace_id) for step in steps)]
    tags = [as_text(tag) for tag in as_list(body.get("tags"))]
    rest = {key: value for key, value in body.items() if key not in _TRACE_FIELDS}
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=as_text(own_metadata.get("app"))
            or ("krabs" if "krabs" in tags else app_name(body.get("name")) or FORMAT),
            format=FORMAT,
            name=as_text(body.get("name")),
            environment=as_text(body.get("environment")),
            tags=tags,
            metadata={**rest, "trace_name": body.get("name")},
            judgements=langfuse_scores.read_judgements(trace.scores),
        ),
        match_calls(_sort_steps(steps, observations, location=f"trace {trace_id}")),
        location=f"trace {trace_id}",
    )


def _sort_steps(
    steps: Sequence[RecordedStep], observations: Sequence[JSONObject], *, location: str
) -> Sequence[RecordedStep]:
    """Sort in causal order, by the numbers in Forkpoint's exports if present, else by time.

    The steps of a replay have times of two runs.
    """
    numbers = {
        as_text(observation.get("id")): _forkpoint_metadata(observation).get("sequence_no")
        for observation in observations
    }
    order = [numbers.get(step.key) for step in steps]
    if not all(isinstance(number, int) for number in order):
        return sort_causally(steps, location=location)
    return [step for _, step in sorted(zip(order, steps, strict=True), key=lambda pair: int(str(pair[0])))]


def _forkpoint_metadata(body: JSONObject) -> JSONObject:
    """Return Forkpoint's metadata of a trace or observation that it exported."""
    return as_object(as_object(body.get("metadata")).get("forkpoint"))


def _root(trace_id: str, trace: _Trace, steps: list[RecordedStep]) -> RecordedStep:
    starts = [step.started_at for step in steps if step.started_at]
    ends = [end for step in steps if (end := step.ended_at or step.started_at)]
    trace_times = parse_span(
        first_member(trace.body, "start_time", "timestamp"), None, f"{trace.location}/body/timestamp"
    )
    times = Span(
        start=min([*starts, *([trace_times.start] if trace_times.start else [])], default=None),
        end=max(ends, default=None),
    )
    return build_step(
        SpanFacts(
            key=trace_id,
            name=as_text(trace.body.get("name")) or "trace",
            type=StepType.AGENT,
            times=times,
            input=trace.body.get("input"),
            output=trace.body.get("output"),
        )
    )


def _under_root(step: RecordedStep, trace_id: str) -> RecordedStep:
    return replace(step, parent=trace_id) if step.parent is None else step


def _step(body: JSONObject, tool_names: frozenset[str], location: str) -> RecordedStep:
    own_metadata, kind = _forkpoint_metadata(body), _type(body, tool_names)
    usage = {**as_object(body.get("usage")), **as_object(body.get("usageDetails"))}
    tokens = normalize_usage(usage, f"{location}/body/usage")
    cost = first_member(as_object(body.get("costDetails")), "total")
    level, model = as_text(body.get("level")), as_text(body.get("model"))
    facts = SpanFacts(
        key=as_text(body.get("id")),
        name=as_text(body.get("name")),
        type=kind,
        parent=as_text(body.get("parentObservationId")) or None,
        times=parse_span(body.get("startTime"), body.get("endTime"), f"{location}/body"),
        failed=level == "ERROR",
        is_open=bool(body.get("startTime")) and not body.get("endTime") and body.get("kind") != "event",
        error=as_text(body.get("statusMessage")) or (result_text(body["output"]) if body.get("output") else "error"),
        input=body.get("input"),
        output=body.get("output"),
        model=model,
        provider=normalize_provider(None, model),
        call_id=_call_id(body),
        usage=tokens,
        request=_request(body) if kind is StepType.MODEL else None,
        answer=normalize_answer(body.get("output"), as_text(own_metadata.get("finish_reason")))
        if kind is StepType.MODEL
        else None,
        attributes={
            key: value for key, value in body.items() if key not in _MAPPED_FIELDS and value not in (None, "", [], {})
        },
    )
    step = build_step(facts)
    step = _restore_exported(step, body, own_metadata) if own_metadata else step
    return replace(step, cost_usd=parse_cost(cost)) if cost is not None else step


def _type(body: JSONObject, tool_names: frozenset[str]) -> StepType:
    """Return the type by kind or metadata; else a tool if a model called it or it has a call id."""
    own_metadata = _forkpoint_metadata(body)
    step_type = _TYPES.get(as_text(body.get("kind"))) or _STEP_TYPES.get(as_text(own_metadata.get("step_type")))
    if step_type is not None:
        return step_type
    name = as_text(body.get("name"))
    return StepType.TOOL if name in tool_names or _call_id(body) else container_type(name)


def _call_id(body: JSONObject) -> str:
    return as_text(first_member(as_object(body.get("metadata")), "tool_use_id", "tool_call_id"))


def _restore_exported(step: RecordedStep, body: JSONObject, own_metadata: JSONObject) -> RecordedStep:
    """Restore a step that Forkpoint exported, from the metadata for which Langfuse has no fields."""
    status = _STATUSES.get(as_text(own_metadata.get("status")), step.status)
    is_untimed = own_metadata.get("timed") is False
    is_not_model = step.type is not StepType.MODEL
    retries = own_metadata.get("retries")
    return replace(
        step,
        status=status,
        error=as_text(body.get("statusMessage")),
        input=body.get("input") if is_not_model else step.input,
        output=body.get("output") if is_not_model else step.output,
        provider=as_text(own_metadata.get("provider")) or step.provider,
        tool_name=as_text(own_metadata.get("tool_name")),
        retries=retries if isinstance(retries, int) else 0,
        started_at=None if is_untimed else step.started_at,
        ended_at=None if is_untimed else step.ended_at,
        attributes={key: value for key, value in step.attributes.items() if key != "metadata"},
    )


def _request(observation: JSONObject) -> JSONObject | None:
    """Return the request with the sampling parameters that Langfuse stores beside it."""
    body = as_object(observation.get("input"))
    request = (
        normalize_request(body)
        if "messages" in body or "contents" in body
        else model_input(normalize_messages(observation.get("input")), [], {})
    )
    parameters = normalize_parameters(as_object(observation.get("modelParameters")))
    if parameters:
        request["parameters"] = {**as_object(request.get("parameters")), **parameters}
    return request if as_list(request["messages"]) else None
