"""Honeycomb: events of spans, as its queries and exports return them: by lines, as a list or as CSV.

{"Timestamp", "trace.trace_id", "trace.span_id", "trace.parent_id", "name", "duration_ms", "gen_ai.request.model": …}
"""

from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import parse_number
from traces.importers.common.times import add_milliseconds, parse_time

_TRACE: Final = "trace.trace_id"
_SPAN: Final = "trace.span_id"
_PARENT: Final = "trace.parent_id"
_KIND: Final = "meta.annotation_type"
_TIMES: Final = ("Timestamp", "timestamp", "time")
_RESOURCE: Final = ("service.name", "deployment.environment", "deployment.environment.name", "service.version")
_COLUMNS: Final = frozenset(
    {_TRACE, _SPAN, _PARENT, *_TIMES, *_RESOURCE, "name", "duration_ms", "span.kind", "type", "status_code"}
    | {"status_message", "error", "library.name", "library.version", "samplerate", "meta.signal_type", _KIND}
    | {"trace.trace_state", "span.num_events", "span.num_links", "parent_name"}
)


def _columns(row: JSONObject) -> JSONObject:
    """Return the columns of an event, which an API returns beside its time."""
    return as_object(row["data"]) if has_object(row, "data") else row


def _fields(row: JSONObject) -> JSONObject:
    """Return the columns of an event with its time."""
    return {**{name: row[name] for name in _TIMES if name in row}, **_columns(row)}


def is_span(row: JSONObject) -> bool:
    fields = _columns(row)
    return fields.keys() >= {_TRACE, _SPAN, "name"} and not fields.get(_KIND)


def is_event(row: JSONObject) -> bool:
    fields = _columns(row)
    return fields.keys() >= {_TRACE, _PARENT, "name"} and fields.get(_KIND) == "span_event"


def span_document(row: JSONObject) -> JSONObject:
    """Return a span as OpenTelemetry for Python writes one."""
    fields = _fields(row)
    start = parse_time(first_member(fields, *_TIMES), "/Timestamp")
    end = add_milliseconds(start, parse_number(fields.get("duration_ms")))
    is_error = as_text(fields.get("error")).lower() == "true" or as_text(fields.get("status_code")) == "2"
    return {
        "context": {
            "trace_id": fields[_TRACE],
            "span_id": fields[_SPAN],
            "trace_state": fields.get("trace.trace_state"),
        },
        "parent_id": fields.get(_PARENT),
        "name": fields["name"],
        "kind": f"SpanKind.{as_text(fields.get('span.kind')).upper()}",
        "start_time": start.isoformat() if start else None,
        "end_time": end.isoformat() if end else None,
        "status_code": "ERROR" if is_error else "",
        "status_message": fields.get("status_message"),
        "attributes": _attributes(fields),
        "scope": {"name": fields.get("library.name"), "version": fields.get("library.version")},
        "resource": {name: fields[name] for name in _RESOURCE if fields.get(name)},
    }


def log_document(row: JSONObject) -> JSONObject:
    """Return an event of a span as a log record."""
    fields = _fields(row)
    return {
        "trace_id": fields[_TRACE],
        "span_id": fields[_PARENT],
        "severity_number": 0,
        "timestamp": first_member(fields, *_TIMES),
        "body": None,
        "attributes": {**_attributes(fields), "event.name": fields["name"]},
    }


def _attributes(fields: JSONObject) -> dict[str, JSONValue]:
    return {name: value for name, value in fields.items() if name not in _COLUMNS and value not in (None, "")}
