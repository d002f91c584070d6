"""OTLP requests, JSON or protobuf, as spans and log records with plain attributes."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_list, require_object, text

_HEX: Final = re.compile(r"[0-9a-f]{2,64}")
_CODES: Final = {"STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2, 1: 1, 2: 2, "1": 1, "2": 2}
_ENVELOPES: Final = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Happening:
    """A span event or a log record of a span."""

    name: str
    time: JSONValue
    body: JSONObject


@dataclass(frozen=True, kw_only=True, slots=True)
class WireSpan:
    trace_id: str
    span_id: str
    name: str
    where: str
    parent_id: str = ""
    start: JSONValue = None
    end: JSONValue = None
    attributes: JSONObject = field(default_factory=dict)
    events: tuple[Happening, ...] = ()
    links: tuple[str, ...] = ()
    failed: bool = False
    message: str = ""
    resource: JSONObject = field(default_factory=dict)
    scope: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class WireLog:
    trace_id: str
    span_id: str
    event: Happening
    resource: JSONObject = field(default_factory=dict)


def is_envelope(value: JSONValue) -> bool:
    return isinstance(value, dict) and any(name in value for name in _ENVELOPES)


def from_protobuf(data: bytes) -> JSONObject | None:
    """An export request in protobuf as its JSON form; None for any other bytes."""
    for request, listed in (
        (ExportTraceServiceRequest(), "resource_spans"),
        (ExportLogsServiceRequest(), "resource_logs"),
    ):
        try:
            request.ParseFromString(data)
        except DecodeError:
            continue
        if _plausible(request, listed):
            return _json_form(request)
    return None


def read(value: JSONValue, where: str) -> Iterator[WireSpan | WireLog]:
    """The spans and log records of one export request."""
    body = require_object(value, where)
    for name, inner, leaf in (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")):
        for at, resource in _each(body, name, where):
            resource_of = _attributes(obj(resource.get("resource")).get("attributes"), f"{at}/resource")
            for place, scope in _each(resource, inner, at):
                scope_of = obj(scope.get("scope"))
                for spot, record in _each(scope, leaf, place):
                    if leaf == "spans":
                        yield _span(record, resource_of, scope_of, spot)
                    else:
                        yield from _log(record, resource_of, spot)


def _each(given: JSONObject, name: str, where: str) -> Iterator[tuple[str, JSONObject]]:
    snake = re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)
    listed = given.get(name, given.get(snake))
    for at, each in enumerate(require_list(listed, f"{where}/{name}") if listed is not None else []):
        yield f"{where}/{name}/{at}", require_object(each, f"{where}/{name}/{at}")


def _span(given: JSONObject, resource: JSONObject, scope: JSONObject, where: str) -> WireSpan:
    status = obj(given.get("status"))
    trace_id = _id(first(given, "traceId", "trace_id"), f"{where}/traceId")
    return WireSpan(
        trace_id=trace_id,
        span_id=_id(first(given, "spanId", "span_id"), f"{where}/spanId"),
        where=where,
        parent_id=_optional_id(first(given, "parentSpanId", "parent_span_id"), f"{where}/parentSpanId"),
        name=text(given.get("name")),
        start=first(given, "startTimeUnixNano", "start_time_unix_nano"),
        end=first(given, "endTimeUnixNano", "end_time_unix_nano"),
        attributes=_attributes(given.get("attributes"), f"{where}/attributes"),
        events=tuple(_event(obj(each), where) for each in items(given.get("events"))),
        links=tuple(_optional_id(first(obj(each), "spanId", "span_id"), where) for each in items(given.get("links"))),
        failed=_CODES.get(text(status.get("code")) or 0) == 2,
        message=text(status.get("message")),
        resource=resource,
        scope=scope,
    )


def _event(given: JSONObject, where: str) -> Happening:
    body = _attributes(given.get("attributes"), f"{where}/events")
    return Happening(name=text(given.get("name")), time=first(given, "timeUnixNano", "time_unix_nano"), body=body)


def _log(given: JSONObject, resource: JSONObject, where: str) -> Iterator[WireLog]:
    """Log records outside of any span are no part of a run."""
    trace_id = _optional_id(first(given, "traceId", "trace_id"), f"{where}/traceId")
    span_id = _optional_id(first(given, "spanId", "span_id"), f"{where}/spanId")
    attributes = _attributes(given.get("attributes"), f"{where}/attributes")
    body = _any(given.get("body"), f"{where}/body")
    if trace_id and span_id:
        name = text(first(given, "eventName", "event_name") or attributes.get("event.name"))
        time = first(given, "timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
        said = body if isinstance(body, dict) else {"body": body} if body is not None else {}
        yield WireLog(
            trace_id=trace_id,
            span_id=span_id,
            resource=resource,
            event=Happening(name=name, time=None if time == "0" else time, body={**attributes, **said}),
        )


def _attributes(value: JSONValue, where: str) -> JSONObject:
    found: JSONObject = {}
    for at, each in enumerate(require_list(value, where) if value is not None else []):
        pair = require_object(each, f"{where}/{at}")
        found[text(pair.get("key"))] = _any(pair.get("value"), f"{where}/{at}/value")
    return found


def _any(value: JSONValue, where: str) -> JSONValue:
    given = obj(value)
    for name, item in given.items():
        match name:
            case "intValue" | "int_value":
                return _integer(item, where)
            case "doubleValue" | "double_value":
                return _double(item)
            case "arrayValue" | "array_value":
                return [_any(each, where) for each in items(obj(item).get("values"))]
            case "kvlistValue" | "kvlist_value":
                return _attributes(obj(item).get("values"), where)
            case "stringValue" | "string_value" | "boolValue" | "bool_value" | "bytesValue" | "bytes_value":
                return item
    return None


def _integer(value: JSONValue, where: str) -> int:
    try:
        number = int(text(value))
    except ValueError as error:
        raise BadFile(f"{text(value)[:40]!r} is not an integer", where) from error
    if not -(2**63) <= number < 2**64:
        raise BadFile("an integer beyond 64 bits", where)
    return number


def _double(value: JSONValue) -> JSONValue:
    """JSON has no NaN and no infinity: OTLP writes their names."""
    return value if isinstance(value, int | float) else text(value)


def _id(value: JSONValue, where: str) -> str:
    found = _optional_id(value, where)
    if not found:
        raise BadFile("an id is missing or all zero", where)
    return found


def _optional_id(value: JSONValue, where: str) -> str:
    """Ids in hex; protobuf's own JSON form writes base64."""
    given = text(value)
    if not given or set(given) == {"0"}:
        return ""
    if len(given) in {16, 32} and _HEX.fullmatch(given.lower()):
        return given.lower()
    try:
        raw = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadFile(f"{given[:40]!r} is not an id in hex", where) from error
    if len(raw) not in {8, 16}:
        raise BadFile(f"{given[:40]!r} is not an id in hex", where)
    return raw.hex() if any(raw) else ""


def _plausible(request: Message, listed: str) -> bool:
    """Many byte strings are protobuf of some sort: a request has a scope with records, and nothing unknown beside."""
    scopes = [
        scope
        for resource in getattr(request, listed)
        for scope in (resource.scope_spans if listed == "resource_spans" else resource.scope_logs)
    ]
    if listed == "resource_spans":
        return any(len(span.trace_id) == 16 for scope in scopes for span in scope.spans)
    return any(record.ByteSize() for scope in scopes for record in scope.log_records)


def _json_form(request: Message) -> JSONObject:
    return obj(MessageToDict(request))
