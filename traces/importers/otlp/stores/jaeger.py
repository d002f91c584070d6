"""Jaeger: traces of its API and its interface, and spans of its indexes, each with its process.

{"traceID", "spans": [{"spanID", "processID", "tags": [{"key", "type", "value"}], …}], "processes": {"p1": …}}
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, is_integer
from traces.core.json_types import JSONObject, JSONValue

_FIELD_TAGS: Final = ("otel.status_code", "otel.status_description", "span.kind")
_CHILD: Final = "CHILD_OF"


def is_trace(body: JSONObject) -> bool:
    """Return whether an object is a trace: spans with their processes."""
    return "processes" in body and is_span(as_object(next(iter(as_list(body.get("spans"))), None)))


def is_span(body: JSONObject) -> bool:
    return {"traceID", "spanID", "operationName"} <= body.keys()


def documents(body: JSONObject) -> Iterator[JSONObject]:
    """Yield the spans of a trace, or a span with its own process, as documents."""
    if is_span(body):
        yield _document(body, as_object(body.get("process")))
        return
    processes = as_object(body.get("processes"))
    for span in as_objects(body.get("spans")):
        yield _document(span, as_object(span.get("process") or processes.get(as_text(span.get("processID")))))


def _document(span: JSONObject, process: JSONObject) -> JSONObject:
    tags = _tags(span)
    has_failed = tags.get("error") in (True, "true") or tags.get("otel.status_code") == "ERROR"
    parent, links = _references(span)
    start, duration = span.get("startTime"), span.get("duration")
    return {
        "context": {"trace_id": span["traceID"], "span_id": span["spanID"]},
        "parent_id": parent,
        "name": span["operationName"],
        "kind": f"SpanKind.{as_text(tags.get('span.kind')).upper()}",
        "start_time": start,
        "end_time": start + duration if is_integer(start) and is_integer(duration) else None,
        "status_code": "ERROR" if has_failed else "",
        "status_message": tags.get("otel.status_description"),
        "attributes": {
            **{name: value for name, value in tags.items() if name not in _FIELD_TAGS},
            **({"warnings": span["warnings"]} if span.get("warnings") else {}),
        },
        "events": [_event(log) for log in as_objects(span.get("logs"))],
        "links": links,
        "resource": {"service.name": process.get("serviceName"), **_tags(process)},
    }


def _tags(holder: JSONObject) -> JSONObject:
    """Return the tags of a span or process. Indexes have some of them in an object, with `@` for dots."""
    pairs = {as_text(tag.get("key")): tag.get("value") for tag in as_objects(holder.get("tags"))}
    return {**{name.replace("@", "."): value for name, value in as_object(holder.get("tag")).items()}, **pairs}


def _event(log: JSONObject) -> JSONObject:
    fields = {as_text(field.get("key")): field.get("value") for field in as_objects(log.get("fields"))}
    name = fields.pop("event", None)
    return {"name": name, "timestamp": log.get("timestamp"), "attributes": fields}


def _references(span: JSONObject) -> tuple[JSONValue, list[JSONValue]]:
    """Return the id of the parent and the links: other references, and those to other traces."""
    references = as_objects(span.get("references"))
    inner = [reference for reference in references if reference.get("traceID") == span["traceID"]]
    parent = next((reference for reference in inner if reference.get("refType") == _CHILD), next(iter(inner), None))
    links: list[JSONValue] = [
        {"context": {"trace_id": reference.get("traceID"), "span_id": reference.get("spanID")}}
        for reference in references
        if reference is not parent
    ]
    return (parent.get("spanID") if parent else span.get("parentSpanID")), links
