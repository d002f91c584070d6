"""Galileo: traces with their spans nested, as its logger sends and its API exports them."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_number, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run, match_calls
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source
from traces.importers.formats.platforms.model_calls import add_call

FORMAT: Final = "galileo"
_HOLDERS: Final = ("traces", "records", "data")
_REFUSAL: Final = "a trace of Galileo needs the `type` “trace” and its `spans`"
_TYPES: Final = {
    "trace": StepType.AGENT,
    "workflow": StepType.AGENT,
    "agent": StepType.AGENT,
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retriever": StepType.RETRIEVAL,
}
_COUNTS: Final = {
    "num_input_tokens": "input_tokens",
    "num_output_tokens": "output_tokens",
    "num_cached_input_tokens": "cached_input_tokens",
    "num_reasoning_tokens": "reasoning_tokens",
}
_METRICS: Final = frozenset({*_COUNTS, "num_total_tokens", "duration_ns", "time_to_first_token_ns"})
_FIELDS: Final = frozenset(
    {"id", "type", "name", "input", "output", "created_at", "metrics", "spans", "model", "tools", "tool_call_id"}
    | {"parent_id", "trace_id", "finish_reason", "temperature", "status_code"}
)


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is a trace, or a list or page of these."""
    body = as_object(first_item(value))
    return _is_trace(body) or any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    for record in source.records():
        for trace, location in read_rows(
            record.value, record.location, holders=_HOLDERS, is_row=_is_trace, refusal=_REFUSAL
        ):
            yield _run(trace, location)


def _is_trace(body: JSONObject) -> bool:
    return body.get("type") == "trace" and has_list(body, "spans")


def _run(trace: JSONObject, location: str) -> RecordedRun:
    id = as_text(trace.get("id")) or f"{FORMAT}-{content_id(trace, location)}"
    steps = list(_steps(trace, "0", None, location))
    metrics = as_object(trace.get("metrics"))
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            name=as_text(trace.get("name")),
            tags=[as_text(tag) for tag in as_list(trace.get("tags"))],
            metadata=as_object(first_member(trace, "user_metadata", "metadata")),
            judgements=[judgement(name, value) for name, value in metrics.items() if _is_score(name, value)],
        ),
        match_calls(steps),
        location=location,
    )


def _is_score(name: str, value: JSONValue) -> bool:
    return name not in _METRICS and isinstance(value, int | float | str)


def _steps(span: JSONObject, path: str, parent: str | None, location: str) -> Iterator[RecordedStep]:
    """Yield the step of a span, and those inside it. A span that was not sent yet has no id."""
    key = as_text(span.get("id")) or path
    yield _step(span, key, parent, location)
    for number, inner in enumerate(as_objects(span.get("spans"))):
        yield from _steps(inner, f"{path}.{number}", key, f"{location}/spans/{number}")


def _step(span: JSONObject, key: str, parent: str | None, location: str) -> RecordedStep:
    kind, metrics, code = as_text(span.get("type")), as_object(span.get("metrics")), as_number(span.get("status_code"))
    start, nanoseconds = parse_time(span.get("created_at"), location), as_number(metrics.get("duration_ns"))
    has_failed = code is not None and code >= 400
    facts = SpanFacts(
        key=key,
        name=as_text(span.get("name")) or kind,
        type=_TYPES.get(kind, StepType.AGENT),
        times=Span(start=start, end=add_milliseconds(start, nanoseconds / 1e6) if nanoseconds is not None else None),
        parent=parent,
        failed=has_failed,
        error=f"status {code}" if has_failed else "",
        input=span.get("input"),
        output=span.get("output"),
        call_id=as_text(span.get("tool_call_id")),
        attributes={
            **{name: item for name, item in span.items() if name not in _FIELDS and item not in (None, "", [], {})},
            **({"metrics": scores} if (scores := _other_metrics(metrics)) and parent else {}),
        },
    )
    return build_step(_model_facts(facts, span, metrics) if facts.type is StepType.MODEL else facts)


def _other_metrics(metrics: JSONObject) -> JSONObject:
    names = {*_COUNTS, "num_total_tokens", "duration_ns"}
    return {name: value for name, value in metrics.items() if name not in names and value is not None}


def _model_facts(facts: SpanFacts, span: JSONObject, metrics: JSONObject) -> SpanFacts:
    usage: JSONObject = {name: metrics[key] for key, name in _COUNTS.items() if metrics.get(key) is not None}
    reason = as_text(span.get("finish_reason"))
    answer = as_object(facts.output)
    if answer and reason:
        facts.output = {**answer, "finish_reason": reason}
    settings = {name: span[name] for name in ("tools", "temperature") if span.get(name) is not None}
    return add_call(facts, settings=settings, model=as_text(span.get("model")), provider="", usage=usage)
