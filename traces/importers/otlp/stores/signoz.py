"""SigNoz: rows of its table of spans, as queries of its API and of ClickHouse return them, and spans of its traces.

{"timestamp", "trace_id", "span_id", "parent_span_id", "name", "duration_nano", "attributes_string": {…}, …}
"""

from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_object, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import parse_number
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import parse_embedded

_ATTRIBUTES: Final = (
    *("attributes_string", "attributes_number", "attributes_bool"),
    *("stringTagMap", "numberTagMap", "boolTagMap", "tagMap", "tag_map"),
)
_SERVICE: Final = "service.name"
_DURATIONS: Final = ("duration_nano", "durationNano")
_TRACES: Final = ("trace_id", "traceID", "traceId")
_SPANS: Final = ("span_id", "spanID", "spanId")


def _fields(row: JSONObject) -> JSONObject:
    """Return the columns of a row, which an API returns beside its time."""
    return {**row, **as_object(row["data"])} if has_object(row, "data") else row


def result_rows(body: JSONObject) -> list[JSONValue]:
    """Return the rows in the results of a query, of any version of its API; empty for anything else."""
    data = as_object(body.get("data"))
    results = as_objects(first_member(as_object(data.get("data")), "results") or data.get("result"))
    rows = [row for result in results for row in as_objects(first_member(result, "rows", "list"))]
    return [*rows] if all(is_span(row) for row in rows) else []


def is_span(row: JSONObject) -> bool:
    fields = as_object(row["data"]) if has_object(row, "data") else row
    has_ids = bool(first_member(fields, *_TRACES) and first_member(fields, *_SPANS))
    has_time = "timestamp" in fields or "timestamp" in row
    return has_ids and has_time and "name" in fields and not fields.keys().isdisjoint(_DURATIONS)


def document(row: JSONObject) -> JSONObject:
    """Return a span as OpenTelemetry for Python writes one."""
    fields = _fields(row)
    start = parse_time(fields["timestamp"], "/timestamp")
    nanoseconds = round(start.timestamp() * 1_000_000) * 1_000 if start else 0
    duration = parse_number(first_member(fields, *_DURATIONS))
    code = as_text(first_member(fields, "status_code_string", "statusCodeString"))
    is_error = code.upper() == "ERROR" or as_text(first_member(fields, "has_error", "hasError")).lower() == "true"
    service = first_member(fields, "serviceName", _SERVICE, "resource_string_service$$name")
    return {
        "context": {
            "trace_id": first_member(fields, *_TRACES),
            "span_id": first_member(fields, *_SPANS),
            "trace_state": first_member(fields, "trace_state", "traceState"),
        },
        "parent_id": first_member(fields, "parent_span_id", "parentSpanID", "parentSpanId"),
        "name": fields.get("name"),
        "kind": f"SpanKind.{as_text(first_member(fields, 'kind_string', 'spanKind', 'span_kind')).upper()}",
        "start_time": nanoseconds,
        "end_time": nanoseconds + duration if is_integer(duration) else None,
        "status_code": "ERROR" if is_error else "",
        "status_message": first_member(fields, "status_message", "statusMessage"),
        "attributes": _attributes(fields),
        "events": [_event(event) for event in as_list(parse_embedded(first_member(fields, "events", "event")))],
        "resource": {
            **({"service.name": service} if service else {}),
            **as_object(parse_embedded(first_member(fields, "resources_string", "resourceTagsMap"))),
        },
    }


def _attributes(fields: JSONObject) -> JSONObject:
    """Return the attributes, of which a query returns maps or the selected ones as columns."""
    columns = {
        name: item for name, item in fields.items() if "." in name and name != _SERVICE and item not in (None, "")
    }
    maps = [as_object(parse_embedded(fields.get(column))) for column in _ATTRIBUTES]
    return columns | {name: value for attributes in maps for name, value in attributes.items()}


def _event(value: JSONValue) -> JSONObject:
    """Return an event, which the table has as a text."""
    event = as_object(parse_embedded(value))
    return {
        "name": event.get("name"),
        "timestamp": first_member(event, "timeUnixNano", "timeUnix"),
        "attributes": event.get("attributeMap"),
    }
