"""Reading of export requests in JSON as independent records."""

import json
from collections.abc import Iterator
from typing import Final

import msgspec

from traces.core.json_access import as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, require_list, require_object
from traces.importers.otlp import wire
from traces.importers.otlp.envelopes import Origin
from traces.importers.otlp.raw_spans import (
    FIELDS,
    RawSpan,
    Signal,
    SpanBatch,
    UnusableRecord,
    check_ids,
    check_time,
    resource_names,
)

_START: Final = ("startTimeUnixNano",)
_LOG_TIME: Final = ("timeUnixNano", "observedTimeUnixNano")


class _ScopeSpans(msgspec.Struct, rename="camel"):
    scope: msgspec.Raw = msgspec.Raw(b"{}")
    spans: list[msgspec.Raw] | None = None
    log_records: list[msgspec.Raw] | None = None
    schema_url: msgspec.Raw = msgspec.Raw()


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: msgspec.Raw = msgspec.Raw(b"{}")
    scope_spans: list[_ScopeSpans] | None = None
    scope_logs: list[_ScopeSpans] | None = None
    schema_url: msgspec.Raw = msgspec.Raw()


class _Request(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] | None = None
    resource_logs: list[_ResourceSpans] | None = None


_decoder: Final = msgspec.json.Decoder(_Request)


def read_json(body: bytes) -> SpanBatch:
    """Read a request of spans or log records. Raises `BadFile` for other JSON."""
    request = _decode(body)
    signal = Signal.LOGS if request.resource_spans is None and request.resource_logs is not None else Signal.TRACES
    batch = SpanBatch(signal=signal)
    names: dict[Origin, tuple[str, str]] = {}
    for location, origin, record in _records(request, signal):
        try:
            if origin not in names:
                names[origin] = _names(origin, location)
            value = require_object(json_value(record), location)
            batch.add(_span_of(signal, value, origin, record, names[origin]))
        except (BadFile, UnusableRecord) as problem:
            batch.reject(location, str(problem))
    return batch


def _names(origin: Origin, location: str) -> tuple[str, str]:
    """Return the names in a resource. Raises `BadFile` if any part of an origin could not be read later."""
    for part in (origin.scope, origin.resource_schema, origin.scope_schema):
        if part:
            json_value(part)
    return resource_names(wire.resource_attributes(json_value(origin.resource), location))


def _decode(body: bytes) -> _Request:
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        try:
            return _tolerant_request(body)
        except (ValueError, RecursionError, BadFile):
            raise BadFile(f"not an OTLP request in JSON: {error}", "byte 0") from error


def _tolerant_request(body: bytes) -> _Request:
    """Read a request of which some records cannot be stored: they contain NaN, or half of a character."""
    request = require_object(json.loads(body), "")
    spans, logs = (
        _tolerant_groups(groups, FIELDS[signal]) if (groups := request.get(FIELDS[signal][0])) is not None else None
        for signal in (Signal.TRACES, Signal.LOGS)
    )
    return _Request(resource_spans=spans, resource_logs=logs)


def _tolerant_groups(groups: JSONValue, names: tuple[str, str, str]) -> list[_ResourceSpans]:
    return [
        _ResourceSpans(
            resource=_raw(group.get("resource")),
            schema_url=_raw(group.get("schemaUrl", "")),
            scope_spans=[
                _ScopeSpans(
                    scope=_raw(scope.get("scope")),
                    schema_url=_raw(scope.get("schemaUrl", "")),
                    spans=[_raw(record) for record in _items(scope, names[2])],
                )
                for scope in (require_object(item, "") for item in _items(group, names[1]))
            ],
        )
        for group in (require_object(item, "") for item in require_list(groups, ""))
    ]


def _items(parent: JSONObject, name: str) -> list[JSONValue]:
    items = parent.get(name)
    return [] if items is None else require_list(items, "")


def _raw(value: JSONValue) -> msgspec.Raw:
    return msgspec.Raw(json.dumps({} if value is None else value).encode())


def _records(request: _Request, signal: Signal) -> Iterator[tuple[str, Origin, bytes]]:
    groups = request.resource_spans if signal is Signal.TRACES else request.resource_logs
    group_name, scope_name, record_name = FIELDS[signal]
    for group_no, group in enumerate(groups or []):
        resource, resource_schema = bytes(group.resource), bytes(group.schema_url)
        for scope_no, scope in enumerate(group.scope_spans or group.scope_logs or []):
            prefix = f"/{group_name}/{group_no}/{scope_name}/{scope_no}/{record_name}"
            origin = Origin(resource, bytes(scope.scope), resource_schema, bytes(scope.schema_url))
            for record_no, record in enumerate(scope.spans or scope.log_records or []):
                yield f"{prefix}/{record_no}", origin, bytes(record)


def _span_of(
    signal: Signal, value: JSONObject, origin: Origin, record: bytes, names: tuple[str, str]
) -> RawSpan | None:
    trace_id, span_id, parent_id = (
        as_text(first_member(value, *keys)).lower() for keys in (("traceId",), ("spanId",), ("parentSpanId",))
    )
    if signal is Signal.LOGS and not (trace_id.strip("0") and span_id.strip("0")):
        return None
    check_ids(_id_bytes(trace_id, "trace"), _id_bytes(span_id, "span"), _id_bytes(parent_id, "parent"))
    _check_contents(signal, value)
    is_span = signal is Signal.TRACES
    return RawSpan(
        signal=signal,
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id if parent_id.strip("0") else "",
        name=as_text(value.get("name") if is_span else value.get("eventName")),
        service=names[0],
        project=names[1],
        start=_time(first_member(value, *(_START if is_span else _LOG_TIME))),
        end=_time(value.get("endTimeUnixNano")) if is_span else 0,
        is_json=True,
        origin=origin,
        record=record,
    )


def _check_contents(signal: Signal, value: JSONObject) -> None:
    """Raise `BadFile` if a record could not be read later, when it is part of a run: then the client is not there."""
    if signal is Signal.TRACES:
        wire.span(value, {}, {}, "")
    else:
        wire.log(value, {}, "")


def _id_bytes(identifier: str, name: str) -> bytes:
    try:
        return bytes.fromhex(identifier)
    except ValueError as error:
        raise UnusableRecord(f"its {name} id “{identifier[:40]}” is not hexadecimal") from error


def _time(value: JSONValue) -> int:
    if value is None or value == "":
        return 0
    try:
        return check_time(int(as_text(value)))
    except ValueError as error:
        raise UnusableRecord(f"“{as_text(value)[:40]}” is not a time in nanoseconds") from error
