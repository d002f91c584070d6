"""Google Cloud Trace: traces of its API with spans of version 1, and spans of version 2."""

from traces.core.json_access import as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.otlp.wire import parse_value


def is_span(body: JSONObject, holder: JSONObject) -> bool:
    is_old = {"projectId", "traceId"} <= holder.keys() and {"spanId", "startTime"} <= body.keys()
    return is_old or ({"spanId", "displayName"} <= body.keys() and "/traces/" in as_text(body.get("name")))


def document(span: JSONObject, holder: JSONObject) -> JSONObject:
    """Return a span as a document. A span of version 1 has the id of its trace in the object around it."""
    is_new = "displayName" in span
    status = as_object(span.get("status"))
    return {
        "context": {
            "trace_id": as_text(span["name"]).split("/")[-3] if is_new else holder["traceId"],
            "span_id": span["spanId"] if is_new else _id(span["spanId"]),
        },
        "parent_id": span.get("parentSpanId") if is_new else _id(span.get("parentSpanId")),
        "name": _text(span["displayName"]) if is_new else span.get("name"),
        "kind": f"SpanKind.{as_text(first_member(span, 'spanKind', 'kind')).removeprefix('RPC_')}",
        "start_time": span.get("startTime"),
        "end_time": span.get("endTime"),
        "status_code": "ERROR" if status.get("code") not in (None, 0) else "",
        "status_message": status.get("message"),
        "attributes": _attributes(span.get("attributes")) if is_new else as_object(span.get("labels")),
        "events": [
            {
                "name": _text(as_object(event.get("annotation")).get("description")),
                "timestamp": event.get("time"),
                "attributes": _attributes(as_object(event.get("annotation")).get("attributes")),
            }
            for event in as_objects(as_object(span.get("timeEvents")).get("timeEvent"))
        ],
        "resource": {},
    }


def _id(value: JSONValue) -> str:
    """Return the id of a span as everything else writes it: version 1 has the number as a decimal one."""
    text = as_text(value)
    # A number of 64 bits has at most twenty digits.
    is_number = text.isdecimal() and len(text) <= 20 and 0 < int(text) < 1 << 64
    return f"{int(text):016x}" if is_number else text.strip("0")


def _attributes(value: JSONValue) -> JSONObject:
    items = as_object(as_object(value).get("attributeMap"))
    return {name: _value(as_object(item)) for name, item in items.items()}


def _value(value: JSONObject) -> JSONValue:
    """Return the value of an attribute. A text is in an object that states whether it was cut."""
    return _text(value["stringValue"]) if "stringValue" in value else parse_value(value)


def _text(value: JSONValue) -> JSONValue:
    return as_object(value).get("value")
