"""Spans and log records in indexes of Elasticsearch and OpenSearch, as hits of searches or by lines.

Elastic's data streams of OpenTelemetry: {"@timestamp", "trace_id", "span_id", "name", "duration", "attributes": {…}}
OpenSearch: {"traceId", "spanId", "startTime", "durationInNanos", "span.attributes.gen_ai@request@model": …}
"""

from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_object, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.times import parse_time
from traces.importers.otlp.stores.rows import flatten

_ELASTIC: Final = frozenset({"@timestamp", "trace_id", "span_id"})
_OPENSEARCH: Final = frozenset({"traceId", "spanId", "startTime", "durationInNanos"})
_STRUCTURE: Final = ("structured", "text")
# OpenSearch has no dots in the names of attributes.
_DOT: Final = "@"


def hit_source(hit: JSONObject) -> JSONObject:
    """Return the document of a hit; a document without the hit around it is returned unchanged."""
    return as_object(hit["_source"]) if has_object(hit, "_source") else hit


def is_span(hit: JSONObject) -> bool:
    body = hit_source(hit)
    is_elastic = body.keys() >= _ELASTIC and "duration" in body and "name" in body
    return is_elastic or (body.keys() >= _OPENSEARCH and "name" in body)


def is_log(hit: JSONObject) -> bool:
    body = hit_source(hit)
    return body.keys() >= _ELASTIC and "duration" not in body and (has_object(body, "body") or "event_name" in body)


def span_document(hit: JSONObject) -> JSONObject:
    """Return a span as OpenTelemetry for Python writes one."""
    body = hit_source(hit)
    return _elastic_document(body) if body.keys() >= _ELASTIC else _opensearch_document(body)


def log_document(hit: JSONObject) -> JSONObject:
    """Return a log record of a span as OpenTelemetry for Python writes one."""
    body = hit_source(hit)
    attributes = flatten(as_object(body.get("attributes")))
    return {
        "trace_id": body["trace_id"],
        "span_id": body["span_id"],
        "severity_number": 0,
        "timestamp": body["@timestamp"],
        "body": first_member(as_object(body.get("body")), *_STRUCTURE),
        "attributes": {**attributes, "event.name": first_member(body, "event_name") or attributes.get("event.name")},
        "resource": body.get("resource"),
    }


def _elastic_document(body: JSONObject) -> JSONObject:
    start, status = parse_time(body["@timestamp"], "/@timestamp"), as_object(body.get("status"))
    nanoseconds = round(start.timestamp() * 1_000_000) * 1_000 if start else 0
    duration = body["duration"]
    return {
        "context": {
            "trace_id": body["trace_id"],
            "span_id": body["span_id"],
            "trace_state": body.get("trace_state"),
        },
        "parent_id": body.get("parent_span_id"),
        "name": body["name"],
        "kind": f"SpanKind.{as_text(body.get('kind')).upper()}",
        "start_time": nanoseconds,
        "end_time": nanoseconds + duration if is_integer(duration) else None,
        "status_code": as_text(status.get("code")).upper(),
        "status_message": status.get("message"),
        "attributes": flatten(as_object(body.get("attributes"))),
        "links": [{"context": link, **link} for link in as_objects(body.get("links"))],
        "scope": body.get("scope"),
        "resource": flatten(as_object(as_object(body.get("resource")).get("attributes"))),
    }


def _opensearch_document(body: JSONObject) -> JSONObject:
    status = as_object(body.get("status"))
    code = as_text(first_member(body, "status.code") or status.get("code"))
    service = body.get("serviceName")
    return {
        "context": {"trace_id": body["traceId"], "span_id": body["spanId"], "trace_state": body.get("traceState")},
        "parent_id": body.get("parentSpanId"),
        "name": body["name"],
        "kind": f"SpanKind.{as_text(body.get('kind')).upper().removeprefix('SPAN_KIND_')}",
        "start_time": body["startTime"],
        "end_time": body.get("endTime"),
        "status_code": "ERROR" if code in {"2", "ERROR"} else "",
        "status_message": first_member(body, "status.message") or status.get("message"),
        "attributes": {**flatten(as_object(body.get("attributes"))), **_columns(body, "span.attributes.")},
        "events": [
            {
                "name": event.get("name"),
                "timestamp": event.get("time"),
                "attributes": _names(as_object(event.get("attributes"))),
            }
            for event in as_objects(body.get("events"))
        ],
        "scope": {"name": body.get("instrumentationScope.name"), "version": body.get("instrumentationScope.version")},
        "resource": {
            **({"service.name": service} if service else {}),
            **flatten(as_object(as_object(body.get("resource")).get("attributes"))),
            **_columns(body, "resource.attributes."),
        },
    }


def _columns(body: JSONObject, prefix: str) -> JSONObject:
    return _names({name.removeprefix(prefix): item for name, item in body.items() if name.startswith(prefix)})


def _names(attributes: JSONObject) -> dict[str, JSONValue]:
    return {name.replace(_DOT, "."): value for name, value in attributes.items()}
