"""Opik: traces and spans of its API, and files of `opik export`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec import structs

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import Usage, normalize_usage, parse_cost
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, require_object
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import SETTINGS, add_call, add_cost, find_outer_spans

FORMAT: Final = "opik"
_HOLDERS: Final = ("content", "traces", "spans", "data")
_TYPES: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "guardrail": StepType.SAFETY,
    "general": None,
}
_TRACE_MARKS: Final = frozenset(
    {"span_count", "llm_span_count", "feedback_scores", "span_feedback_scores", "thread_id"}
)
_SPAN_MARKS: Final = frozenset(
    {"parent_span_id", "total_estimated_cost", "feedback_scores", "error_info", "project_name", "project_id"}
)
_FIELDS: Final = frozenset(
    {"id", "trace_id", "parent_span_id", "name", "type", "start_time", "end_time", "input", "output", "model"}
    | {"provider", "usage", "feedback_scores", "total_estimated_cost", "tags", "spans", "created_at"}
    | {"last_updated_at", "created_by", "last_updated_by", "duration"}
)


@dataclass(kw_only=True)
class _Trace:
    facts: JSONObject = field(default_factory=dict)
    spans: dict[str, JSONObject] = field(default_factory=dict)


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is a trace, a span, or contains some."""
    body = as_object(first_item(value))
    if has_object(body, "trace") and has_list(body, "spans"):
        return {"id", "start_time"} <= as_object(body["trace"]).keys()
    if _is_span(body) or _is_trace(body):
        return True
    return any(has_list(body, name) and bool(body[name]) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, _Trace] = {}
    for item in parse_records(sources, _read):
        trace = traces.setdefault(as_text(item.get("trace_id") or item.get("id")), _Trace())
        if _has_trace(item):
            trace.spans[as_text(item["id"])] = item
        else:
            trace.facts |= item
    for trace_id, trace in traces.items():
        try:
            yield _run(trace_id, trace)
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _is_span(body: JSONObject) -> bool:
    is_typed = as_text(body.get("type") or "general") in _TYPES
    # Traces of Phoenix contain their spans.
    return _has_trace(body) and is_typed and not _SPAN_MARKS.isdisjoint(body) and "spans" not in body


def _has_trace(body: JSONObject) -> bool:
    """Return whether a record is a span if it is Opik's, which leaves out fields without a value."""
    return {"id", "trace_id", "start_time"} <= body.keys()


def _is_trace(body: JSONObject) -> bool:
    return {"id", "start_time"} <= body.keys() and "trace_id" not in body and not _TRACE_MARKS.isdisjoint(body)


@item_by_item
def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield traces and spans; raise `BadFile` for one that cannot become a step."""
    body = require_object(value, location)
    if has_object(body, "trace"):
        trace = as_object(body["trace"])
        yield trace
        yield from _spans(body, as_text(trace.get("id")), location)
    elif _has_trace(body):
        _step(body, location)
        yield body
    elif _is_trace(body):
        yield body
        yield from _spans(body, as_text(body["id"]), location)
    else:
        name = next((name for name in _HOLDERS if has_list(body, name)), None)
        if name is None:
            raise BadFile("not a trace or span of Opik", location)
        yield from _read(body[name], f"{location}/{name}")


def _spans(body: JSONObject, trace_id: str, location: str) -> Iterator[JSONObject]:
    """Yield the spans inside a trace, whose fields may be left out there."""
    for index, span in enumerate(as_objects(body.get("spans"))):
        full_span = {"trace_id": trace_id, "parent_span_id": None, **span}
        _step(full_span, f"{location}/spans/{index}")
        yield full_span


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    facts, location = trace.facts, f"trace {trace_id}"
    outer_ids = find_outer_spans(
        {key: as_text(span.get("parent_span_id")) for key, span in trace.spans.items()},
        [key for key, span in trace.spans.items() if span.get("type") == "llm"],
    )
    steps = [_step(span, f"span {key}", is_outer=key in outer_ids) for key, span in trace.spans.items()]
    if facts:
        has_usage = any(step.tokens_in is not None or step.cost_usd is not None for step in steps)
        usage = Usage() if has_usage else _sum_of(facts, location)
        steps = [_root(trace_id, facts, usage, location), *(_put_below(step, trace_id) for step in steps)]
    name = as_text(facts.get("name"))
    records = [(None, facts), *trace.spans.items()]
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(facts.get("project_name"), name) or FORMAT,
            format=FORMAT,
            name=name,
            environment=as_text(facts.get("environment")),
            tags=[as_text(tag) for _, record in records for tag in as_list(record.get("tags"))],
            metadata={key: item for key, item in facts.items() if key not in _FIELDS},
            judgements=[score for step, record in records for score in _scores(record, step)],
        ),
        match_calls(sort_causally(steps)),
        location=location,
    )


def _sum_of(facts: JSONObject, location: str) -> Usage:
    """Return the usage of a trace without the spans whose sum it is."""
    usage = normalize_usage(_usage(as_object(facts.get("usage"))), location)
    return structs.replace(usage, cost_usd=parse_cost(facts.get("total_estimated_cost")))


def _root(trace_id: str, facts: JSONObject, usage: Usage, location: str) -> RecordedStep:
    error = _error(facts)
    times = parse_span(facts.get("start_time"), facts.get("end_time"), location)
    return build_step(
        SpanFacts(
            key=trace_id,
            name=as_text(facts.get("name")) or "trace",
            type=StepType.AGENT,
            times=times,
            failed=bool(error),
            error=error,
            input=facts.get("input"),
            output=facts.get("output"),
            usage=usage,
        )
    )


def _put_below(step: RecordedStep, trace_id: str) -> RecordedStep:
    return step if step.parent else replace(step, parent=trace_id)


def _step(span: JSONObject, location: str, *, is_outer: bool = False) -> RecordedStep:
    """Build the step of a span; `is_outer` spans contain model calls."""
    name, kind, error = as_text(span.get("name")), as_text(span.get("type")), _error(span)
    metadata = as_object(span.get("metadata"))
    facts = SpanFacts(
        key=as_text(span.get("id")),
        name=name or kind or "span",
        type=(None if is_outer and kind == "llm" else _TYPES.get(kind)) or container_type(name),
        parent=as_text(span.get("parent_span_id")) or None,
        times=parse_span(span.get("start_time"), span.get("end_time"), location),
        failed=bool(error),
        error=error,
        input=span.get("input"),
        output=_output(span.get("output")),
        attributes={key: item for key, item in span.items() if key not in _FIELDS and item not in (None, "", [], {})},
    )
    if facts.type is StepType.MODEL:
        facts = add_call(
            facts,
            settings={key: item for key, item in metadata.items() if key in SETTINGS},
            model=as_text(span.get("model")),
            provider=span.get("provider"),
            usage=_usage(as_object(span.get("usage"))),
        )
        facts = add_cost(facts, span.get("total_estimated_cost"))
    return build_step(facts)


def _usage(usage: JSONObject) -> JSONObject:
    """Return the counts with the cached tokens, which Opik has among those of the original answer."""
    cached = usage.get("original_usage.prompt_tokens_details.cached_tokens")
    return {**usage, "cached_tokens": cached} if cached else usage


def _output(value: JSONValue) -> JSONValue:
    """Return the output without the object that Opik puts around a value that is none."""
    body = as_object(value)
    return body["output"] if body.keys() == {"output"} else value


def _error(record: JSONObject) -> str:
    info = as_object(record.get("error_info"))
    return as_text(first_member(info, "message", "exception_type", "traceback"))


def _scores(record: JSONObject, step: str | None) -> Iterator[RecordedJudgement]:
    for score in as_objects(record.get("feedback_scores")):
        yield judgement(
            as_text(score.get("name")),
            score.get("value"),
            text=": ".join(part for name in ("category_name", "reason") if (part := as_text(score.get(name)))),
            author=as_text(first_member(score, "last_updated_by", "created_by", "source")),
            at=parse_time(score.get("created_at"), "feedback score"),
            step=step,
        )
