"""Rows of tables of spans: Logfire, AgentOps, Dynatrace, and the tables of OpenTelemetry's exporter for ClickHouse."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import entries
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import parse_embedded

_LOGFIRE: Final = frozenset({"trace_id", "span_id", "span_name", "start_timestamp"})
# Columns that Logfire takes out of the attributes.
_LOGFIRE_COLUMNS: Final = {
    "tags": "logfire.tags",
    "level": "logfire.level_num",
    "exception_type": "exception.type",
    "exception_stacktrace": "exception.stacktrace",
}
_AGENTOPS: Final = frozenset({"span_id", "span_name", "span_attributes", "start_time"})
_CLICKHOUSE: Final = frozenset({"TraceId", "SpanId", "SpanName", "Timestamp", "SpanAttributes"})
# Dynatrace has the attributes of spans and resources in columns beside those of the span.
_DYNATRACE: Final = frozenset({"trace.id", "span.id", "span.name", "start_time"})
_DYNATRACE_COLUMNS: Final = _DYNATRACE | {
    *("span.parent_id", "span.kind", "span.status_code", "span.status_message", "span.events", "end_time", "duration"),
    *("otel.scope.name", "otel.scope.version", "service.name"),
}


def is_row(span: JSONObject) -> bool:
    return any(fields <= span.keys() for fields in (_LOGFIRE, _AGENTOPS, _CLICKHOUSE, _DYNATRACE))


def documents(rows: Sequence[JSONValue], holder: JSONObject) -> Iterator[JSONValue]:
    """Yield rows as documents; the spans of AgentOps have their trace's id and tags in the object around them."""
    for row in rows:
        body = as_object(row)
        if body.keys() >= _AGENTOPS:
            yield _agentops_document(body, as_object(holder.get("trace")) or holder)
        elif body.keys() >= _CLICKHOUSE:
            yield _clickhouse_document(body)
        elif body.keys() >= _DYNATRACE:
            yield _dynatrace_document(body)
        else:
            yield _logfire_document(body) if body.keys() >= _LOGFIRE else row


def _logfire_document(row: JSONObject) -> JSONObject:
    events: list[JSONValue] = [
        {**event, "name": first_member(event, "event_name", "name"), "timestamp": event.get("event_timestamp")}
        for event in as_objects(parse_embedded(row.get("otel_events")))
    ]
    environment = row.get("deployment_environment")
    service: JSONObject = {"service.name": row["service_name"]} if row.get("service_name") else {}
    return {
        "context": {"trace_id": row["trace_id"], "span_id": row["span_id"]},
        "parent_id": row.get("parent_span_id"),
        "name": row["span_name"],
        "start_time": row["start_timestamp"],
        "end_time": row.get("end_timestamp"),
        "status_code": row.get("otel_status_code"),
        "status_message": first_member(row, "otel_status_message", "exception_message"),
        "attributes": {
            **{name: row[column] for column, name in _LOGFIRE_COLUMNS.items() if row.get(column)},
            **({"logfire.msg": row["message"]} if row.get("message") not in (None, row["span_name"]) else {}),
            **as_object(parse_embedded(row.get("attributes"))),
        },
        "events": events,
        "scope": {"name": row.get("otel_scope_name"), "version": row.get("otel_scope_version")},
        "resource": {
            **({"deployment.environment.name": environment} if environment else {}),
            **as_object(parse_embedded(row.get("otel_resource_attributes"))),
            **service,
        },
    }


def _agentops_document(row: JSONObject, trace: JSONObject) -> JSONObject:
    attributes: JSONObject = {**as_object(row.get("attributes")), **flatten(as_object(row["span_attributes"]))}
    if not row.get("parent_span_id") and trace.get("tags"):
        attributes["tag.tags"] = trace["tags"]
    # The metrics of an agent are the sums of those of its calls. A cost of zero is not known.
    cost = as_text(as_object(row.get("metrics")).get("total_cost"))
    if attributes.get("agentops.span.kind") == "llm" and cost.strip("0."):
        attributes["llm.cost.total"] = cost
    return {
        "context": {
            "trace_id": first_member(row, "trace_id") or trace.get("trace_id"),
            "span_id": row["span_id"],
        },
        "parent_id": row.get("parent_span_id"),
        "name": row["span_name"],
        "kind": f"SpanKind.{as_text(row.get('span_kind')).upper()}",
        "start_time": row["start_time"],
        "end_time": row.get("end_time"),
        "status_code": row.get("status_code"),
        "status_message": row.get("status_message"),
        "attributes": attributes,
        "events": _events(row, "event_names", "event_timestamps", "event_attributes"),
        "resource": {"service.name": row.get("service_name"), **flatten(as_object(row.get("resource_attributes")))},
    }


def flatten(attributes: JSONObject) -> JSONObject:
    """Return attributes under their own names. AgentOps nests them by the dots: `{"gen_ai": {"prompt": [{"role": …"""
    flat: JSONObject = {}
    for name, value in attributes.items():
        has_members = isinstance(value, dict) or bool(as_objects(value))
        if has_members and value:
            members: JSONObject = dict(entries(value))
            flat |= {f"{name}.{key}": item for key, item in flatten(members).items()}
        else:
            flat[name] = value
    return flat


def _clickhouse_document(row: JSONObject) -> JSONObject:
    """Return a row of ClickHouse as a document. Its time has nanoseconds, as its duration has."""
    start = parse_time(row["Timestamp"], "/Timestamp")
    duration = row.get("Duration")
    nanoseconds = round(start.timestamp() * 1_000_000) * 1_000 if start else 0
    return {
        "context": {"trace_id": row["TraceId"], "span_id": row["SpanId"], "trace_state": row.get("TraceState")},
        "parent_id": row.get("ParentSpanId"),
        "name": row["SpanName"],
        "kind": f"SpanKind.{as_text(row.get('SpanKind')).removeprefix('SPAN_KIND_').upper()}",
        "start_time": nanoseconds,
        "end_time": nanoseconds + int(as_text(duration)) if _is_count(duration) else None,
        "status_code": as_text(row.get("StatusCode")).upper(),
        "status_message": row.get("StatusMessage"),
        "attributes": row["SpanAttributes"],
        "events": _events(row, "Events.Name", "Events.Timestamp", "Events.Attributes"),
        "resource": {
            "service.name": row.get("ServiceName"),
            **as_object(parse_embedded(row.get("ResourceAttributes"))),
        },
    }


def _dynatrace_document(row: JSONObject) -> JSONObject:
    """Return a record of Dynatrace's query language as a document."""
    return {
        "context": {"trace_id": row["trace.id"], "span_id": row["span.id"]},
        "parent_id": row.get("span.parent_id"),
        "name": row["span.name"],
        "kind": f"SpanKind.{as_text(row.get('span.kind')).upper()}",
        "start_time": row["start_time"],
        "end_time": row.get("end_time"),
        "status_code": as_text(row.get("span.status_code")).upper(),
        "status_message": row.get("span.status_message"),
        "attributes": {name: value for name, value in row.items() if name not in _DYNATRACE_COLUMNS},
        "events": [
            {
                "name": first_member(event, "span_event.name", "name"),
                "timestamp": event.get("timestamp"),
                "attributes": event,
            }
            for event in as_objects(parse_embedded(row.get("span.events")))
        ],
        "scope": {"name": row.get("otel.scope.name"), "version": row.get("otel.scope.version")},
        "resource": {"service.name": row.get("service.name")},
    }


def _is_count(value: JSONValue) -> bool:
    return is_integer(value) or as_text(value).isdecimal()


def _events(row: JSONObject, *columns: str) -> list[JSONValue]:
    """Return events whose names, times and attributes are lists of their own."""
    names, times, attributes = (as_list(parse_embedded(row.get(column))) for column in columns)
    return [
        {"name": name, "timestamp": time, "attributes": body or {}}
        for name, time, body in zip_longest(names, times, attributes)
    ]
