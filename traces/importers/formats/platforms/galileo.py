"""Galileo: traces and spans as its logger sends and its API exports them: nested in `spans`, or as rows.

{"type": "llm", "id", "trace_id", "parent_id", "session_id", "input", "output", "metrics": {…}, "metric_info": {…}}
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import (
    as_integer,
    as_list,
    as_number,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run, match_calls, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost

FORMAT: Final = "galileo"
_SESSION: Final = "session"
_HOLDERS: Final = ("traces", "records", "data")
_REFUSAL: Final = "a record of Galileo needs a known `type` and its `id`, or the `spans` of a trace"
_NO_TRACES: Final = "these are sessions of Galileo without their traces: export the traces and spans, too"
_TYPES: Final = {
    "trace": StepType.AGENT,
    "workflow": StepType.AGENT,
    "agent": StepType.AGENT,
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retriever": StepType.RETRIEVAL,
}
_ROW: Final = frozenset({"id", "session_id", "run_id", "project_id"})
_COUNTS: Final = {
    "num_input_tokens": "input_tokens",
    "num_output_tokens": "output_tokens",
    "num_cached_input_tokens": "cached_input_tokens",
    "num_reasoning_tokens": "reasoning_tokens",
}
_MAPPED_METRICS: Final = frozenset({*_COUNTS, "num_total_tokens", "duration_ns", "cost"})
_MEASURES: Final = _MAPPED_METRICS | {"time_to_first_token_ns"}
_FIELDS: Final = frozenset(
    {"id", "type", "name", "input", "output", "created_at", "metrics", "metric_info", "spans", "traces", "model"}
    | {"tools", "tool_call_id", "parent_id", "trace_id", "session_id", "finish_reason", "temperature", "status_code"}
    | {"tags", "user_metadata", "metadata", "is_complete", "has_children"}
)


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is a record, or a list or page of these."""
    body = as_object(first_item(value))
    return _is_record(body) or any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, dict[str, JSONObject]] = {}
    sessions: dict[str, JSONObject] = {}
    for record in parse_records(sources, _read):
        if record["type"] == _SESSION:
            sessions[as_text(record.get("id"))] = omit(record, "traces", "id")
        else:
            traces.setdefault(as_text(record["trace_id"]), {})[as_text(record["id"])] = record
    if sessions and not traces:
        sources[-1].problems.append(BadFile(_NO_TRACES, "/type"))
    for trace_id, records in traces.items():
        yield _run(trace_id, records, sessions)


def _is_record(body: JSONObject) -> bool:
    kind = as_text(body.get("type"))
    is_nested = kind == "trace" and has_list(body, "spans")
    return is_nested or ((kind in _TYPES or kind == _SESSION) and body.keys() >= _ROW)


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield the records in a value; raise `BadFile` for one that cannot become a step."""
    for record, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_record, refusal=_REFUSAL):
        if record["type"] == _SESSION:
            yield record
            for number, trace in enumerate(as_objects(record.get("traces"))):
                yield from _read({"type": "trace", "spans": [], **trace}, f"{place}/traces/{number}")
            continue
        id = as_text(record.get("id")) or f"{FORMAT}-{content_id(record, place)}"
        trace_id = as_text(record.get("trace_id")) or id
        for span, span_place in _unfold({**record, "id": id}, trace_id, id, place):
            _step(span, span_place)
            yield span


def _unfold(span: JSONObject, trace_id: str, path: str, location: str) -> Iterator[tuple[JSONObject, str]]:
    """Yield a span and those inside it. A span that was not sent yet has no id."""
    id = as_text(span.get("id")) or path
    yield {**span, "id": id, "trace_id": trace_id}, location
    for number, inner in enumerate(as_objects(span.get("spans"))):
        child = {**inner, "parent_id": id, "type": as_text(inner.get("type"))}
        yield from _unfold(child, trace_id, f"{path}.{number}", f"{location}/spans/{number}")


def _run(trace_id: str, records: dict[str, JSONObject], sessions: dict[str, JSONObject]) -> RecordedRun:
    rows = sorted(records.values(), key=lambda row: as_integer(row.get("step_number")) or 0)
    # Spans may come without the record of their trace.
    steps = [_step(row, f"span {as_text(row['id'])}", has_trace=trace_id in records) for row in rows]
    root = records.get(trace_id) or rows[0]
    session_id = as_text(root.get("session_id"))
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=FORMAT,
            format=FORMAT,
            name=as_text(root.get("name")),
            has_ended=root.get("is_complete") is not False,
            tags=[as_text(tag) for row in rows for tag in as_list(row.get("tags"))],
            metadata={
                **as_object(first_member(root, "user_metadata", "metadata")),
                "session_id": session_id if session_id != trace_id else "",
                _SESSION: sessions.get(session_id),
            },
            judgements=[score for row in rows for score in _scores(row, trace_id)],
        ),
        match_calls(_order(steps)),
        location=f"trace {trace_id}",
    )


def _order(steps: list[RecordedStep]) -> list[RecordedStep]:
    """Return steps by their times, or as they are if some nested ones have none."""
    keys = {step.key for step in steps}
    has_times = all(step.started_at for step in steps)
    is_causal = True
    for step in steps:
        # Of parents, only those that follow are left.
        is_causal = is_causal and step.parent not in keys
        keys.discard(step.key)
    return steps if is_causal and not has_times else sort_causally(steps)


def _scores(row: JSONObject, trace_id: str) -> Iterator[RecordedJudgement]:
    """Yield the metrics of a record that are scores, with the words of the scorer about them."""
    step = None if row["id"] == trace_id else as_text(row["id"])
    details = as_object(row.get("metric_info"))
    values = {name: as_object(detail).get("value") for name, detail in details.items()} | as_object(row.get("metrics"))
    for name, value in values.items():
        detail = as_object(details.get(name))
        if name not in _MEASURES and isinstance(value, int | float | str):
            text = as_text(first_member(detail, "explanation", "rationale"))
            other_fields = omit(detail, "value", "explanation", "status_type")
            yield judgement(name, value, text=text, step=step, detail=other_fields)


def _step(span: JSONObject, location: str, *, has_trace: bool = True) -> RecordedStep:
    kind, metrics, code = as_text(span.get("type")), as_object(span.get("metrics")), as_number(span.get("status_code"))
    start, nanoseconds = parse_time(span.get("created_at"), location), as_number(metrics.get("duration_ns"))
    has_failed = code is not None and code >= 400
    parent = as_text(span.get("parent_id"))
    metadata = as_object(first_member(span, "user_metadata", "metadata")) if parent else {}
    facts = SpanFacts(
        key=as_text(span["id"]),
        name=as_text(span.get("name")) or kind,
        type=_TYPES.get(kind, StepType.AGENT),
        times=Span(start=start, end=add_milliseconds(start, nanoseconds / 1e6) if nanoseconds is not None else None),
        parent=None if not has_trace and parent == span["trace_id"] else parent or None,
        failed=has_failed,
        error=f"status {code}" if has_failed else "",
        input=span.get("input"),
        output=span.get("output"),
        call_id=as_text(span.get("tool_call_id")),
        attributes={
            **other_members(span, _FIELDS),
            **other_members({"metadata": metadata}, ()),
            **other_members({"metrics": _other_metrics(span)}, ()),
        },
    )
    return build_step(_model_facts(facts, span, metrics) if facts.type is StepType.MODEL else facts)


def _other_metrics(span: JSONObject) -> JSONObject:
    """Return the metrics of a span that are neither scores nor fields of its step, and scorers without a score."""
    metrics = other_members(as_object(span.get("metrics")), _MAPPED_METRICS)
    scores = {name for name, value in metrics.items() if name not in _MEASURES and isinstance(value, int | float | str)}
    failures: JSONObject = {
        name: detail
        for name, detail in other_members(as_object(span.get("metric_info")), _MEASURES).items()
        if name not in metrics and not other_members({"value": as_object(detail).get("value")}, ())
    }
    return {**omit(metrics, *scores), **failures}


def _model_facts(facts: SpanFacts, span: JSONObject, metrics: JSONObject) -> SpanFacts:
    usage: JSONObject = {name: metrics[key] for key, name in _COUNTS.items() if metrics.get(key) is not None}
    reason = as_text(span.get("finish_reason"))
    answer = as_object(facts.output)
    if answer and reason:
        facts.output = {**answer, "finish_reason": reason}
    settings = {name: span[name] for name in ("tools", "temperature") if span.get(name) is not None}
    facts = add_call(facts, settings=settings, model=as_text(span.get("model")), provider="", usage=usage)
    return add_cost(facts, metrics.get("cost"))
