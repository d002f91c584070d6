"""TRAIL: traces of agents as trees of OpenTelemetry spans, with the errors that people found in their spans.

Import a trace and its annotations together: they name each other by the trace's id.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import fit_judgements
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_object
from traces.importers.files.source import Source, parse_records
from traces.importers.otlp.assembly import Trace, build_trace
from traces.importers.otlp.span_documents import read_spans
from traces.importers.otlp.wire import WireSpan

FORMAT: Final = "trail"
# Such as `PT1M2.5S`.
_DURATION: Final = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")
_MOST_LEVELS: Final = 200
_REASONING: Final = "_reasoning"
_Part = tuple[str, list[WireSpan], JSONObject]


def is_trace(value: JSONValue) -> bool:
    """Return True if `value` is a trace, its annotations, or a row of the data set with both as texts."""
    body = as_object(first_item(value))
    if {"trace", "labels"} <= body.keys():
        return is_trace(parse_embedded(body["trace"]))
    span = as_object(next(iter(as_list(body.get("spans"))), None))
    is_tree = {"span_id", "span_name", "span_attributes"} <= span.keys()
    return "trace_id" in body and (is_tree or (has_list(body, "errors") and has_list(body, "scores")))


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace, with its annotations."""
    traces: dict[str, Trace] = {}
    annotations: dict[str, JSONObject] = {}
    for id, spans, labels in parse_records(sources, _read):
        if labels:
            annotations[id] = labels
        for span in spans:
            traces.setdefault(id, Trace(trace_id=id)).add(span)
    for id in annotations.keys() - traces.keys():
        reason = "annotations without their trace: import the trace together with them"
        sources[-1].problems.append(BadFile(reason, f"trace {id}"))
    for id, trace in traces.items():
        run = build_trace(trace)
        sources[-1].problems.extend(trace.problems)
        yield _annotate(run, annotations.get(id, {}))


def _read(value: JSONValue, location: str) -> Iterator[_Part]:
    """Yield the id of a trace, its spans and its annotations."""
    for item in value if isinstance(value, list) else [value]:
        body = as_object(item)
        if "labels" in body:
            trace = as_object(parse_embedded(body.get("trace")))
            labels = require_object(parse_embedded(body["labels"] or "{}"), f"{location}/labels")
        else:
            trace, labels = (body, {}) if has_list(body, "spans") else ({}, body)
        id = as_text(trace.get("trace_id") or labels.get("trace_id"))
        if not id:
            raise BadFile("a trace needs a `trace_id`", f"{location}/trace_id")
        spans = [
            span for index, root in enumerate(as_objects(trace.get("spans"))) for span in _spans(root, id, location)
        ]
        yield id, spans, labels


def _spans(root: JSONObject, trace: str, location: str) -> Iterator[WireSpan]:
    """Yield a span and all below it."""
    levels = [(root, "", 0)]
    while levels:
        span, parent, level = levels.pop()
        if level > _MOST_LEVELS:
            raise BadFile(f"spans are nested deeper than {_MOST_LEVELS} levels", location)
        document = _document(span, trace, parent)
        yield from read_spans(document, f"{location}, span {as_text(span.get('span_id'))}")
        id = as_text(span.get("span_id"))
        levels += [(child, id, level + 1) for child in as_objects(span.get("child_spans"))]


def _document(span: JSONObject, trace: str, parent: str) -> JSONObject:
    """Return a span as OpenTelemetry for Python writes it."""
    location = f"span {as_text(span.get('span_id'))}"
    start = parse_time(span.get("timestamp"), location)
    end = add_milliseconds(start, _milliseconds(as_text(span.get("duration"))))
    events: list[JSONValue] = [
        {
            **event,
            "name": first_member(event, "name", "Name"),
            "timestamp": first_member(event, "timestamp", "Timestamp"),
        }
        | {"attributes": first_member(event, "attributes", "Attributes")}
        for event in as_objects(span.get("events"))
    ]
    extra = {name: span[name] for name in ("logs", "service_name", "scope_name", "span_kind") if span.get(name)}
    return {
        "context": {"trace_id": trace, "span_id": span.get("span_id"), "trace_state": span.get("trace_state")},
        "parent_id": span.get("parent_span_id") or parent,
        "name": span.get("span_name"),
        "start_time": start.isoformat() if start else None,
        "end_time": end.isoformat() if end else None,
        "status_code": as_text(span.get("status_code")).upper(),
        "status_message": span.get("status_message"),
        "attributes": {
            **as_object(span.get("span_attributes")),
            **{f"trail.{name}": item for name, item in extra.items()},
        },
        "events": events,
        "links": as_list(span.get("links")),
        "resource": as_object(span.get("resource_attributes")),
    }


def _milliseconds(text: str) -> float | None:
    """Return a duration of ISO 8601; None if it is unknown."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days)))


def _annotate(run: RecordedRun, labels: JSONObject) -> RecordedRun:
    judgements = [*_errors(labels), *_scores(labels)]
    keys = [step.key for step in run.steps]
    return replace(run, judgements=(*run.judgements, *fit_judgements(judgements, keys))) if judgements else run


def _errors(labels: JSONObject) -> Iterator[RecordedJudgement]:
    for error in as_objects(labels.get("errors")):
        texts = (as_text(error.get("category")), as_text(error.get("description")))
        detail: JSONObject = {
            name: item for name, item in error.items() if name not in ("category", "description", "location") and item
        }
        yield RecordedJudgement(
            name="annotation",
            kind=JudgementKind.FAIL,
            text=": ".join(filter(None, texts)),
            step=as_text(error.get("location")) or None,
            detail=detail,
        )


def _scores(labels: JSONObject) -> Iterator[RecordedJudgement]:
    for scores in as_objects(labels.get("scores")):
        for name, value in scores.items():
            if isinstance(value, int | float):
                reasoning = as_text(scores.get(name.removesuffix("_score") + _REASONING))
                yield judgement(name, float(value), text=reasoning)
