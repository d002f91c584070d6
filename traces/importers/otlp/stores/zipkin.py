"""Zipkin: spans of version 2, whose tags are texts."""

from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, is_integer
from traces.core.json_types import JSONObject, JSONValue

_FIELDS: Final = frozenset(
    {"traceId", "id", "parentId", "name", "kind", "timestamp", "duration", "debug", "shared", "localEndpoint"}
    | {"remoteEndpoint", "annotations", "tags"}
)
_STATUS_TAGS: Final = frozenset({"otel.status_code", "otel.status_description"})


def is_span(body: JSONObject) -> bool:
    """Return whether an object is a span. Other traces have ids of these names, and further members."""
    has_ids = {"traceId", "id"} <= body.keys() <= _FIELDS
    return has_ids and not body.keys().isdisjoint({"timestamp", "localEndpoint", "tags"})


def document(span: JSONObject) -> JSONObject:
    tags = as_object(span.get("tags"))
    start, duration = span.get("timestamp"), span.get("duration")
    remote = as_object(span.get("remoteEndpoint"))
    return {
        "context": {"trace_id": span["traceId"], "span_id": span["id"]},
        "parent_id": span.get("parentId"),
        "name": span.get("name"),
        "kind": f"SpanKind.{as_text(span.get('kind'))}",
        "start_time": start,
        "end_time": start + duration if is_integer(start) and is_integer(duration) else None,
        # The value of this tag is the message of the error.
        "status_code": "ERROR" if "error" in tags or tags.get("otel.status_code") == "ERROR" else "",
        "status_message": tags.get("otel.status_description") or _error(tags),
        "attributes": {
            **{name: value for name, value in tags.items() if name not in _STATUS_TAGS},
            **({"remoteEndpoint": remote} if remote else {}),
        },
        "events": [_event(annotation) for annotation in as_objects(span.get("annotations"))],
        "resource": {"service.name": as_object(span.get("localEndpoint")).get("serviceName")},
    }


def _error(tags: JSONObject) -> JSONValue:
    return tags.get("error") if tags.get("error") not in ("true", "") else None


def _event(annotation: JSONObject) -> JSONObject:
    return {"name": annotation.get("value"), "timestamp": annotation.get("timestamp"), "attributes": {}}
