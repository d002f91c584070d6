"""Spans as programs write them to a file or a console without an envelope: the objects of OpenTelemetry's SDKs.

    JavaScript, console   {"traceId", "id", "parentSpanContext": {…}, "timestamp": µs, "duration": µs, "kind": 0…4, …}
    JavaScript, objects   {"_spanContext": {"traceId", "spanId"}, "startTime": [s, ns], "endTime": [s, ns], …}
    Go, stdout            {"SpanContext": {"TraceID", "SpanID"}, "Parent", "StartTime", "Attributes": [{"Key", …}], …}
    evaluations, agents   {"trace_id", "span_id", "parent_span_id", "start_time", "attributes": {…}, "span_events", …}
    Phoenix               {"trace_id", "span_id", "start_time_unix_nano", "attributes": [{"key", "value": {…}}], …}

Gemini CLI, Qwen Code and Copilot Chat write JavaScript's objects, and evaluations of Bedrock AgentCore the last form.
"""

from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_object, is_number
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.files.json_reader import parse_embedded
from traces.importers.otlp.clouds import cloudwatch
from traces.importers.otlp.wire import parse_attributes

# Kinds by number, which is one less in JavaScript than in OTLP and in Go.
_KINDS: Final = ("INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_TRACE_IDS: Final = ("trace_id", "traceId")
_SPAN_IDS: Final = ("span_id", "spanId")
_STARTS: Final = ("start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano")
_ENDS: Final = ("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano")
_NAMES: Final = ("name", "span_name", "operation_name")
_KIND_NAMES: Final = ("kind", "span_kind", "spanKind", "type", "span_type", "spanType")
# Under names of OpenInference.
_COLUMNS: Final = {
    "input": "input.value",
    "output": "output.value",
    "session_id": "session.id",
    "sessionId": "session.id",
    "user_id": "user.id",
    "userId": "user.id",
    "tags": "tag.tags",
    "total_cost": "llm.cost.total",
    "totalCost": "llm.cost.total",
}


def is_span(body: JSONObject) -> bool:
    """Return whether an object is a span with plain attributes, of any of these forms."""
    return _is_console(body) or _is_object(body) or _is_go(body) or _is_flat(body)


def document(body: JSONObject) -> JSONObject:
    """Return a span as OpenTelemetry for Python writes one."""
    if _is_go(body):
        return _go_document(body)
    return _flat_document(body) if _is_flat(body) else _script_document(body)


def _is_console(body: JSONObject) -> bool:
    return {"traceId", "id", "name", "timestamp"} <= body.keys() and has_object(body, "attributes")


def _is_object(body: JSONObject) -> bool:
    return "traceId" in as_object(body.get("_spanContext")) and "startTime" in body


def _is_go(body: JSONObject) -> bool:
    return "TraceID" in as_object(body.get("SpanContext")) and "StartTime" in body


def _is_flat(body: JSONObject) -> bool:
    names = (_TRACE_IDS, _SPAN_IDS, _STARTS, _NAMES)
    attributes = body.get("attributes")
    has_attributes = isinstance(attributes, dict | str) or "key" in as_object(first_item(attributes))
    return has_attributes and not any(body.keys().isdisjoint(group) for group in names)


def _script_document(body: JSONObject) -> JSONObject:
    context = as_object(body.get("_spanContext")) or {"traceId": body["traceId"], "spanId": body.get("id")}
    parent = as_object(body.get("parentSpanContext"))
    start = _time(first_member(body, "startTime", "timestamp"))
    kind = body.get("kind")
    return {
        "context": {"trace_id": context["traceId"], "span_id": context.get("spanId")},
        "parent_id": first_member(body, "parentSpanId", "parentId") or parent.get("spanId"),
        "name": body.get("name"),
        "kind": f"SpanKind.{_KINDS[kind]}" if isinstance(kind, int) and 0 <= kind < len(_KINDS) else "",
        "start_time": start,
        "end_time": _time(body.get("endTime")) or _sum(start, body.get("duration", body.get("_duration"))),
        **_status(body),
        "attributes": body.get("attributes"),
        "events": [_event(event) for event in as_objects(body.get("events"))],
        "links": [_script_link(link) for link in as_objects(body.get("links"))],
        "scope": first_member(body, "instrumentationScope", "instrumentationLibrary"),
        "resource": _script_resource(as_object(body.get("resource"))),
    }


def _script_link(link: JSONObject) -> JSONObject:
    context = as_object(link.get("context"))
    return {**link, "context": {"trace_id": context.get("traceId"), "span_id": context.get("spanId")}}


def _script_resource(resource: JSONObject) -> JSONValue:
    """Return the attributes of a resource, which version 2 of the SDK has as pairs, and version 1 as an object."""
    pairs = [pair for pair in as_list(resource.get("_rawAttributes")) if isinstance(pair, list) and len(pair) > 1]
    return {as_text(pair[0]): pair[1] for pair in pairs} or first_member(resource, "attributes", "_attributes")


def _time(value: JSONValue) -> JSONValue:
    """Return a time of JavaScript's SDK, which is a number or a pair of seconds and nanoseconds, in nanoseconds."""
    parts = value if isinstance(value, list) else [*as_object(value).values()]
    if len(parts) == 2 and is_number(parts[0]) and is_number(parts[1]):
        return int(parts[0]) * 10**9 + int(parts[1])
    return value


def _sum(start: JSONValue, duration: JSONValue) -> JSONValue:
    """Return the end of a span. The console has both as numbers of microseconds, objects as pairs."""
    length = _time(duration)
    return start + length if is_number(start) and is_number(length) else None


def _flat_document(body: JSONObject) -> JSONObject:
    kinds = [as_text(body.get(name)) for name in _KIND_NAMES if body.get(name)]
    parent_id = as_text(first_member(body, "parent_span_id", "parentSpanId", "parent_id", "parentId"))
    names = {kind: kind.upper().removeprefix("SPAN_KIND_").removeprefix("SPANKIND.") for kind in kinds}
    return {
        "context": {
            "trace_id": first_member(body, *_TRACE_IDS),
            "span_id": first_member(body, *_SPAN_IDS),
            "trace_state": first_member(body, "trace_state", "traceState"),
        },
        "parent_id": parent_id if parent_id.strip("0-") else None,
        "name": first_member(body, *_NAMES),
        "kind": next((f"SpanKind.{name}" for name in names.values() if name in _KINDS), ""),
        # Programs name there what a span is about, too.
        "span_kind": next((kind for kind, name in names.items() if name not in _KINDS and not name.isdecimal()), ""),
        "start_time": _time(first_member(body, *_STARTS)),
        "end_time": _time(first_member(body, *_ENDS)),
        **_status(body),
        "attributes": {**_columns(body), **_attributes(body["attributes"])},
        "events": [_event(event) for event in as_objects(parse_embedded(first_member(body, "span_events", "events")))],
        "links": [_flat_link(link) for link in as_objects(body.get("links"))],
        "scope": first_member(body, "scope", "instrumentation_scope", "instrumentationScope"),
        "resource": _resource(first_member(body, "resource", "resource_attributes", "resourceAttributes")),
    }


def _attributes(value: JSONValue) -> JSONObject:
    """Return attributes, which are an object, or a list of pairs as in OTLP."""
    attributes = parse_embedded(value)
    return parse_attributes(attributes, "/attributes") if isinstance(attributes, list) else as_object(attributes)


def _columns(body: JSONObject) -> JSONObject:
    """Return what Laminar and other programs state of a span beside its attributes."""
    return {name: body[column] for column, name in _COLUMNS.items() if body.get(column) not in (None, "", [], {}, 0)}


def _resource(value: JSONValue) -> JSONValue:
    attributes = as_object(value).get("attributes")
    return _attributes(attributes if isinstance(attributes, list) else value) if value else None


def _flat_link(link: JSONObject) -> JSONObject:
    context = as_object(link.get("context")) or link
    ids: JSONObject = {
        "trace_id": first_member(context, *_TRACE_IDS),
        "span_id": first_member(context, *_SPAN_IDS),
        "trace_state": first_member(context, "trace_state", "traceState"),
    }
    return {"context": ids, "attributes": _attributes(link.get("attributes"))}


def _status(body: JSONObject) -> JSONObject:
    """Return the outcome of a span: a text, a number as in OTLP, or an object with either."""
    status = as_object(body.get("status"))
    code = as_text(first_member(status, "code", "status_code") or body.get("status_code") or body.get("status"))
    return {
        "status_code": "ERROR" if code == "2" or code.upper().endswith("ERROR") else "",
        "status_message": first_member({**body, **status}, "message", "description", "status_message", "statusMessage"),
    }


def _event(event: JSONObject) -> JSONObject:
    """Return an event. Evaluations of AgentCore have the log records of a span as events with a body."""
    contents, attributes = as_object(event.get("body")), _attributes(first_member(event, "attributes", "attrs"))
    time = first_member(event, "timestamp", "time", "time_unix_nano", "timeUnixNano")
    if cloudwatch.is_call(contents):
        return {
            "name": cloudwatch.DETAILS,
            "timestamp": time,
            "attributes": {**attributes, **cloudwatch.call_attributes(contents)},
        }
    return {
        "name": first_member(event, "name", "event_name"),
        "timestamp": _time(time),
        "attributes": {**attributes, **contents},
    }


def _go_document(body: JSONObject) -> JSONObject:
    context, status = as_object(body["SpanContext"]), as_object(body.get("Status"))
    kind, parent_id = body.get("SpanKind"), as_text(as_object(body.get("Parent")).get("SpanID"))
    return {
        "context": {
            "trace_id": context["TraceID"],
            "span_id": context.get("SpanID"),
            "trace_state": context.get("TraceState"),
        },
        "parent_id": parent_id if parent_id.strip("0") else None,
        "name": body.get("Name"),
        "kind": f"SpanKind.{_KINDS[kind - 1]}" if isinstance(kind, int) and 0 < kind <= len(_KINDS) else "",
        "start_time": body["StartTime"],
        "end_time": body.get("EndTime"),
        "status_code": "ERROR" if status.get("Code") == "Error" else "",
        "status_message": status.get("Description"),
        "attributes": _go_attributes(body.get("Attributes")),
        "events": [
            {
                "name": event.get("Name"),
                "timestamp": event.get("Time"),
                "attributes": _go_attributes(event.get("Attributes")),
            }
            for event in as_objects(body.get("Events"))
        ],
        "scope": {name.lower(): value for name, value in as_object(body.get("InstrumentationScope")).items()},
        "resource": _go_attributes(body.get("Resource")),
    }


def _go_attributes(pairs: JSONValue) -> JSONObject:
    return {as_text(pair.get("Key")): as_object(pair.get("Value")).get("Value") for pair in as_objects(pairs)}
