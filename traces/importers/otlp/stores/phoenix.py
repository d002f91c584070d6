"""Spans in answers of Phoenix's GraphQL API, as its interface and programs ask for them.

Queries choose their fields, and the objects around the spans: `{"data": {"node": {"spans": {"edges": [{"node": …`.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_MOST_LEVELS: Final = 16
_ANNOTATION: Final = frozenset({"span_id", "name", "annotator_kind", "result"})
_OTHER_FIELDS: Final = ("id", "latencyMs", "costSummary", "cumulativeTokenCountTotal", "documentEvaluations")


def graph_documents(value: JSONValue) -> list[JSONValue]:
    """Return the spans in an answer as documents; empty for anything else."""
    if not has_object(value, "data"):
        return []
    documents: dict[tuple[str, str], JSONValue] = {}
    for span, trace_id, project in _spans(as_object(value)["data"], "", "", 0):
        documents.setdefault((trace_id, _span_id(span)), _document(span, trace_id, project))
    return [*documents.values()]


def annotations(value: JSONValue) -> list[JSONObject]:
    """Return the annotations in a page of these, in a list or in a line; empty for anything else."""
    rows = as_objects(value) or as_objects(as_object(value).get("data")) or [as_object(value)]
    return rows if all(row.keys() >= _ANNOTATION and "start_time" not in row for row in rows) else []


def is_trace_summary(body: JSONObject) -> bool:
    """Return whether an object is a page of Phoenix's traces, whose spans have no attributes."""
    first = next(iter(as_objects(body.get("data"))), {})
    return first.keys() >= {"trace_id", "project_id", "start_time", "end_time"} and "attributes" not in first


def _spans(value: JSONValue, trace_id: str, project: str, level: int) -> Iterator[tuple[JSONObject, str, str]]:
    """Yield each span with the id of its trace, which the object around it may have, and the name of its project."""
    if level > _MOST_LEVELS:
        return
    if isinstance(value, list):
        for item in value:
            yield from _spans(item, trace_id, project, level + 1)
        return
    body = as_object(value)
    trace_id = _trace_id(body) or trace_id
    if trace_id and _is_span(body):
        yield body, trace_id, project
    if isinstance(body.get("name"), str) and not _is_span(body):
        project = as_text(body["name"])
    for name, item in body.items():
        # Attributes may have any names.
        if name not in {"attributes", "metadata"} and isinstance(item, dict | list):
            yield from _spans(item, trace_id, project, level + 1)


def _is_span(body: JSONObject) -> bool:
    return bool(_span_id(body)) and "startTime" in body and ("spanKind" in body or "attributes" in body)


def _span_id(body: JSONObject) -> str:
    return as_text(first_member(body, "spanId") or as_object(body.get("context")).get("spanId"))


def _trace_id(body: JSONObject) -> str:
    holders = (as_object(body.get(name)) for name in ("context", "trace"))
    return as_text(
        first_member(body, "traceId") or next((item["traceId"] for item in holders if "traceId" in item), "")
    )


def _document(span: JSONObject, trace_id: str, project: str) -> JSONObject:
    return {
        "context": {"trace_id": trace_id, "span_id": _span_id(span)},
        "parent_id": span.get("parentId"),
        "name": span.get("name"),
        "span_kind": as_text(span.get("spanKind")).upper(),
        "start_time": span.get("startTime"),
        "end_time": span.get("endTime"),
        "status_code": span.get("statusCode"),
        "status_message": span.get("statusMessage"),
        "attributes": {**_counts(span), **_values(span), **as_object(parse_embedded(span.get("attributes")))},
        "events": [_event(event) for event in as_objects(span.get("events"))],
        "annotations": [_annotation(item) for item in as_objects(span.get("spanAnnotations"))],
        "resource": {"openinference.project.name": project} if project else {},
        **{name: span[name] for name in _OTHER_FIELDS if span.get(name) is not None},
    }


def _values(span: JSONObject) -> JSONObject:
    """Return the input and output of a span; a query may ask for them instead of the attributes."""
    return {
        f"{name}.{attribute}": value
        for name in ("input", "output")
        for field, attribute in (("value", "value"), ("mimeType", "mime_type"))
        if (value := as_object(span.get(name)).get(field)) is not None
    }


def _counts(span: JSONObject) -> JSONObject:
    names = {"Prompt": "prompt", "Completion": "completion", "Total": "total"}
    return {
        f"llm.token_count.{name}": span[f"tokenCount{field}"]
        for field, name in names.items()
        if span.get(f"tokenCount{field}") and as_text(span.get("spanKind")).lower() == "llm"
    }


def _event(event: JSONObject) -> JSONObject:
    message: JSONObject = {"exception.message": event["message"]} if event.get("message") else {}
    return {
        "name": event.get("name"),
        "timestamp": event.get("timestamp"),
        "attributes": {**message, **as_object(parse_embedded(event.get("attributes")))},
    }


def _annotation(annotation: JSONObject) -> JSONObject:
    names = {"annotatorKind": "annotator_kind", "createdAt": "created_at"}
    return {names.get(name, name): value for name, value in annotation.items()}
