"""Braintrust: rows of logs and experiments, each a span of a trace."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, omit, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import SETTINGS, add_call, add_cost, find_outer_spans

FORMAT: Final = "braintrust"
_HOLDERS: Final = ("events", "rows", "objects", "data")
_TYPES: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "score": StepType.VALIDATOR,
    "scorer": StepType.VALIDATOR,
}
_COUNTS: Final = {
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "prompt_cached_tokens": "cached_tokens",
    "completion_reasoning_tokens": "reasoning_tokens",
    "prompt_cache_creation_tokens": "cache_creation_tokens",
}
_MAPPED_METRICS: Final = frozenset({*_COUNTS, "start", "end", "tokens", "estimated_cost"})
_FIELDS: Final = frozenset(
    {"id", "span_id", "root_span_id", "span_parents", "span_attributes", "input", "output", "error", "expected"}
    | {"metadata", "metrics", "scores", "tags", "created", "is_root", "_xact_id"}
    | {"project_id", "experiment_id", "dataset_id", "log_id", "origin", "comments"}
)
_CONTEXT: Final = ("project_id", "experiment_id", "dataset_id", "log_id", "origin", "metadata", "expected", "comments")


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is a row, or a list of rows."""
    body = as_object(first_item(value))
    if {"root_span_id", "span_id"} <= body.keys():
        return "span_attributes" in body or "_xact_id" in body or "scores" in body
    return any(has_list(body, name) and bool(body[name]) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, dict[str, JSONObject]] = {}
    for row in parse_records(sources, _read):
        traces.setdefault(as_text(row["root_span_id"]), {})[as_text(row["span_id"])] = row
    for trace_id, rows in traces.items():
        yield _run(trace_id, rows)


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield rows; raise `BadFile` for one that cannot become a step."""
    refusal = "a row of Braintrust needs `span_id` and `root_span_id`"
    for row, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_row, refusal=refusal):
        _step(row, place)
        yield row


def _is_row(body: JSONObject) -> bool:
    return bool(as_text(body.get("span_id")) and as_text(body.get("root_span_id")))


def _run(trace_id: str, rows: dict[str, JSONObject]) -> RecordedRun:
    location = f"trace {trace_id}"
    outer_ids = find_outer_spans(
        {key: _parent(row) for key, row in rows.items()}, [key for key, row in rows.items() if _kind(row) == "llm"]
    )
    recorded_steps = [_step(row, f"span {key}", is_outer=key in outer_ids) for key, row in rows.items()]
    steps = match_calls(sort_causally(recorded_steps))
    root = rows.get(trace_id) or rows[steps[0].key]
    name = _name(root)
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(name) or FORMAT,
            format=FORMAT,
            name=name,
            failed=bool(root.get("error")),
            tags=[as_text(tag) for row in rows.values() for tag in as_list(row.get("tags"))],
            metadata={name: root.get(name) for name in _CONTEXT},
            judgements=[score for key, row in rows.items() for score in _scores(row, None if row is root else key)],
        ),
        steps,
        location=location,
    )


def _name(row: JSONObject) -> str:
    return as_text(as_object(row.get("span_attributes")).get("name"))


def _kind(row: JSONObject) -> str:
    return as_text(as_object(row.get("span_attributes")).get("type"))


def _parent(row: JSONObject) -> str:
    return as_text(next(iter(as_list(row.get("span_parents"))), None))


def _step(row: JSONObject, location: str, *, is_outer: bool = False) -> RecordedStep:
    """Build the step of a row; `is_outer` spans contain model calls."""
    metrics, error = as_object(row.get("metrics")), row.get("error")
    key, name, kind = as_text(row["span_id"]), _name(row), _kind(row)
    metadata = as_object(row.get("metadata"))
    facts = SpanFacts(
        key=key,
        name=name or kind or "span",
        type=(None if is_outer and kind == "llm" else _TYPES.get(kind)) or container_type(name),
        parent=_parent(row) or None,
        times=parse_span(first_member(metrics, "start") or row.get("created"), metrics.get("end"), location),
        failed=bool(error),
        error=result_text(error) if error else "",
        input=row.get("input"),
        output=row.get("output"),
        attributes={
            **other_members(row, _FIELDS),
            "span_attributes": omit(as_object(row.get("span_attributes")), "name", "type"),
            "metadata": {name: item for name, item in metadata.items() if kind != "llm" or name not in SETTINGS},
            "metrics": {name: item for name, item in metrics.items() if name not in _MAPPED_METRICS},
            "expected": row.get("expected"),
            "row_id": row.get("id") if row.get("id") != key else None,
        },
    )
    facts.attributes = {name: item for name, item in facts.attributes.items() if item not in (None, "", [], {})}
    if facts.type is StepType.MODEL:
        facts = add_call(
            facts,
            settings={name: item for name, item in metadata.items() if name in SETTINGS},
            model=as_text(metadata.get("model")),
            provider=metadata.get("provider"),
            usage={_COUNTS[name]: item for name, item in metrics.items() if name in _COUNTS},
        )
        facts = add_cost(facts, metrics.get("estimated_cost"))
    return build_step(facts)


def _scores(row: JSONObject, step: str | None) -> Iterator[RecordedJudgement]:
    for name, value in as_object(row.get("scores")).items():
        if value is not None:
            yield judgement(name, value, step=step)
