"""Langfuse ingestion batches: events in any order, with updates merged into their observations.

A trace is a run, and its observations are the steps. A trace often spans several requests, so the files of an import
are read together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    called_tool_names,
    match_calls,
    merge_records,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step, with_root_answer
from traces.importers.common.times import Span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.tracing import langfuse_export, langfuse_scores
from traces.importers.formats.tracing.langfuse_observations import build_observation, forkpoint_metadata

FORMAT = "langfuse"
# Each run of the session has them.
_MOST_SESSION_SCORES: Final = 100
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
    session_scores: list[JSONValue] = field(default_factory=list)
    location: str = ""


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace. An update and its observation may be in different files."""
    without_steps: list[str] = []
    traces = _read_traces(sources)
    _add_session_scores(traces, sources)
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


def parse_arrivals(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace; those of which only scores have arrived have no steps."""
    for trace_id, trace in _read_traces(sources).items():
        if trace.body or trace.observations:
            yield _run(trace_id, trace)
        else:
            scores = langfuse_scores.read_scores(trace.scores)
            yield RecordedRun(
                external_id=trace_id,
                name=trace_id,
                app=FORMAT,
                format=FORMAT,
                steps=(),
                judgements=scores.judgements,
                retractions=scores.retractions,
            )


def has_ended(run: RecordedRun) -> bool:
    """Return whether all observations have ended: nothing else marks the end of a Langfuse trace."""
    observations = [step for step in run.steps if step.key != run.external_id]
    return bool(observations) and all(step.status is not StepStatus.PARTIAL for step in observations)


def trace_of(event: JSONObject) -> str:
    """Return the id of the trace that an ingestion event belongs to. Raises `BadFile` for an event without one."""
    record = _event(event, "")
    if record.kind not in _OBSERVATION_KINDS | {"trace", "score"}:
        raise BadFile(f"events of type “{as_text(event.get('type'))[:60]}” are not stored", "/type")
    # As in Langfuse, an observation without a trace is a trace of its own.
    names = {"trace": ("id",), "score": ("traceId",)}.get(record.kind, ("traceId", "id"))
    trace_id = as_text(first_member(record.body, *names))
    if not trace_id:
        detail = "only scores of traces are stored" if record.kind == "score" else "an event without the id of a trace"
        raise BadFile(detail, f"/body/{names[0]}")
    if record.kind == "score" and not record.body.get(langfuse_scores.IS_DELETED):
        langfuse_scores.check(record.body)
    return trace_id


def keys(source: Source) -> set[str]:
    """Return the ids of the traces and observations in a file; an update has only that of its observation."""
    ids = (as_text(event.body.get(name)) for event in parse_records([source], _events) for name in ("id", "traceId"))
    return {key for key in ids if key}


def _read_traces(sources: Sequence[Source]) -> dict[str, _Trace]:
    # Langfuse's own order: creations, then updates, both by time. Scores replace each other as they arrive.
    events = sorted(
        parse_records(sources, _events),
        key=lambda event: (event.is_update, "" if event.kind == "score" else event.time),
    )
    homes = {
        as_text(event.body["id"]): as_text(event.body["traceId"])
        for event in events
        if event.kind in _OBSERVATION_KINDS and event.body.get("traceId")
    }
    traces: dict[str, _Trace] = {}
    for event in events:
        _apply_event(event, traces, homes)
    return traces


def _add_session_scores(traces: dict[str, _Trace], sources: Sequence[Source]) -> None:
    """Give the scores of sessions to the traces of these; scores of other things are problems of their files."""
    traces_by_session: dict[str, list[_Trace]] = {}
    scores_by_session: dict[str, list[JSONValue]] = {}
    scores = traces.pop("", _Trace()).scores
    for trace in traces.values():
        owner = first_member({**_owners([*trace.observations.values()]), **trace.body}, "sessionId")
        traces_by_session.setdefault(as_text(owner), []).append(trace)
    refused_scores: dict[str, list[JSONObject]] = {}
    for score in map(as_object, scores):
        session = as_text(score.get("sessionId"))
        session_scores = scores_by_session.setdefault(session, [])
        if not session or session not in traces_by_session:
            refused_scores.setdefault("of no trace: import the traces of its session with it", []).append(score)
        elif len(session_scores) == _MOST_SESSION_SCORES:
            reason = f"left out: its session has more than {_MOST_SESSION_SCORES}"
            refused_scores.setdefault(reason, []).append(score)
        else:
            session_scores.append({name: item for name, item in score.items() if item is not None})
    for session in scores_by_session.keys() & traces_by_session.keys() - {""}:
        for trace in traces_by_session[session]:
            trace.session_scores = scores_by_session[session]
    for reason, (score, *more_scores) in refused_scores.items():
        verb = f"and {len(more_scores)} more are" if more_scores else "is"
        detail = f"the score “{as_text(score.get('name'))[:60]}” {verb} {reason}"
        _refuse(as_text(first_member(score, "id", "name")), sources, detail)


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
        build_observation({**body, "kind": kind}, frozenset(), location)
    if kind == "trace":
        _start_of(body, location)
    if kind == "score" and verb == "delete":
        body = {**body, langfuse_scores.IS_DELETED: True}
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
        if event.is_update and earlier.get("model") and body.get("model") not in (None, earlier["model"]):
            body = {**body, "requestedModel": first_member(earlier, "requestedModel", "model")}
        trace.observations[key] = merge_records(earlier, {**body, "kind": earlier.get("kind") or kind})


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    observations = list(trace.observations.values())
    tool_names = called_tool_names(
        build_observation(observation, frozenset(), trace.location).output
        for observation in observations
        if observation["kind"] == "generation"
    )
    steps = [build_observation(observation, tool_names, trace.location) for observation in observations]
    body = trace.body
    own_metadata = forkpoint_metadata(body)
    if not any(map(forkpoint_metadata, [body, *observations])):
        steps = _count_once(steps)
    if body and not own_metadata:
        steps = [_root(trace_id, trace, steps), *(_under_root(step, trace_id) for step in steps)]
    tags = [as_text(tag) for tag in as_list(body.get("tags"))]
    is_of_krabs = "krabs" in tags and not own_metadata
    if is_of_krabs:
        steps = [_without_end(step) for step in steps]
    scores = langfuse_scores.read_scores(trace.scores)
    rest = {key: value for key, value in body.items() if key not in _TRACE_FIELDS}
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=as_text(own_metadata.get("app")) or ("krabs" if is_of_krabs else app_name(body.get("name")) or FORMAT),
            format=FORMAT,
            name=as_text(body.get("name")),
            environment=as_text(body.get("environment")),
            has_ended=not is_of_krabs or body.get("output") is not None,
            tags=tags,
            metadata={**_owners(observations), **rest, "trace_name": body.get("name"), **_session_facts(trace)},
            judgements=scores.judgements,
            retractions=scores.retractions,
        ),
        with_root_answer(match_calls(_sort_steps(steps, observations))),
        location=f"trace {trace_id}",
    )


def _session_facts(trace: _Trace) -> JSONObject:
    return {"session_scores": trace.session_scores} if trace.session_scores else {}


def _owners(observations: Sequence[JSONObject]) -> JSONObject:
    """Return the user and the session that observations name, for a trace that does not."""
    names = ("userId", "sessionId")
    return {name: observation[name] for name in names for observation in observations if observation.get(name)}


def _count_once(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Make the tokens and costs of steps around model calls an attribute: they are sums over these calls."""
    parents = {step.key: step.parent for step in steps}
    outer: set[str] = set()
    for step in steps:
        key = step.parent if step.type is StepType.MODEL and step.tokens_in is not None else None
        while key is not None and key not in outer:
            outer.add(key)
            key = parents.get(key)
    return [_without_usage(step) if step.key in outer else step for step in steps]


def _without_usage(step: RecordedStep) -> RecordedStep:
    counts = {"tokens_in": step.tokens_in, "tokens_out": step.tokens_out, "tokens_cached": step.tokens_cached}
    usage: JSONObject = {name: count for name, count in counts.items() if count is not None}
    if step.cost_usd is not None:
        usage["cost_usd"] = str(step.cost_usd)
    sums: JSONObject = {"sum_of_calls": usage} if usage else {}
    attributes = {**step.attributes, **sums}
    return replace(step, tokens_in=None, tokens_out=None, tokens_cached=None, cost_usd=None, attributes=attributes)


def _sort_steps(steps: Sequence[RecordedStep], observations: Sequence[JSONObject]) -> Sequence[RecordedStep]:
    """Sort in causal order, by the numbers in Forkpoint's exports if present, else by time.

    The steps of a replay have times of two runs.
    """
    numbers = {
        as_text(observation.get("id")): forkpoint_metadata(observation).get("sequence_no")
        for observation in observations
    }
    order = [numbers.get(step.key) for step in steps]
    if not all(isinstance(number, int) for number in order):
        return sort_causally(steps)
    return [step for _, step in sorted(zip(order, steps, strict=True), key=lambda pair: int(str(pair[0])))]


def _root(trace_id: str, trace: _Trace, steps: list[RecordedStep]) -> RecordedStep:
    starts = [step.started_at for step in steps if step.started_at]
    ends = [end for step in steps if (end := step.ended_at or step.started_at)]
    start = _start_of(trace.body, trace.location)
    times = Span(
        start=min([*starts, *([start] if start else [])], default=None),
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


def _start_of(body: JSONObject, location: str) -> datetime | None:
    return parse_time(first_member(body, "start_time", "timestamp"), f"{location}/body/timestamp")


def _without_end(step: RecordedStep) -> RecordedStep:
    """Mark a step of Krabs that has not ended: it sends the end of every turn and call, and the agent's result."""
    is_open = step.output is None if step.parent is None else step.ended_at is None
    return replace(step, status=StepStatus.PARTIAL) if is_open and step.status is StepStatus.OK else step


def _under_root(step: RecordedStep, trace_id: str) -> RecordedStep:
    return replace(step, parent=trace_id) if step.parent is None else step
