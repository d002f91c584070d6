"""Reading of export requests in protobuf: as independent records, or as spans and log records with plain attributes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from traces.core.json_types import JSONObject
from traces.importers.files.errors import BadFile
from traces.importers.otlp import protobuf
from traces.importers.otlp.envelopes import Origin
from traces.importers.otlp.raw_spans import (
    FIELDS,
    TRACE_ID,
    RawSpan,
    Rejection,
    Signal,
    SpanBatch,
    UnusableRecord,
    check_ids,
    check_time,
    resource_names,
)
from traces.importers.otlp.wire import WireLog, WireSpan


@dataclass(kw_only=True, slots=True)
class DecodedRequest:
    """The decoded records of a request. Log records without a span are only counted, as in `SpanBatch`."""

    records: list[WireSpan | WireLog] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    unrelated_logs: int = 0


def read_protobuf(body: bytes, signal: Signal | None) -> SpanBatch:
    """Read a request. Raises `BadFile` for other bytes."""
    request = parse_protobuf(body)
    signal = signal or _signal_of(request)
    batch = SpanBatch(signal=signal)
    read = _span_of if signal is Signal.TRACES else _log_of
    names: dict[bytes, tuple[str, str]] = {}
    for location, origin, record in _records(request, signal):
        resource = origin.resource
        try:
            if resource not in names:
                names[resource] = resource_names(protobuf.resource_attributes(resource, b""))
            batch.add(read(origin, record, names[resource]))
        except DecodeError as problem:
            batch.reject(location, f"it cannot be decoded: {problem}")
        except UnusableRecord as problem:
            batch.reject(location, str(problem))
    return batch


def decode_protobuf(body: bytes) -> DecodedRequest:
    """Read and decode a request of spans or log records. Raises `BadFile` for other bytes."""
    request = parse_protobuf(body)
    signal = _signal_of(request)
    result = DecodedRequest()
    known_copies: list[bytes] = []
    for location, origin, record in _records(request, signal):
        try:
            attributes = protobuf.resource_attributes(origin.resource, origin.resource_schema)
            if signal is Signal.TRACES:
                span = _decode_span(record, attributes, origin, known_copies)
                known_copies = span.message_copies or known_copies
                result.records.append(span)
            elif (log := _decode_log(record, attributes)) is not None:
                result.records.append(log)
            else:
                result.unrelated_logs += 1
        except DecodeError as problem:
            result.rejections.append(Rejection(location=location, reason=f"it cannot be decoded: {problem}"))
        except UnusableRecord as problem:
            result.rejections.append(Rejection(location=location, reason=str(problem)))
    return result


def parse_protobuf(body: bytes) -> Any:
    """Parse a request as far as its records. Raises `BadFile` for other bytes."""
    try:
        return protobuf.Request.FromString(body)
    except DecodeError as error:
        raise BadFile("the body is neither an OTLP request in protobuf nor JSON", "byte 0") from error


def _decode_span(record: bytes, resource: JSONObject, origin: Origin, known_copies: list[bytes]) -> WireSpan:
    try:
        return protobuf.span(record, resource, protobuf.scope_fields(origin.scope, origin.scope_schema), known_copies)
    except DecodeError:
        return protobuf.undecoded_span(record)


def _decode_log(record: bytes, resource: JSONObject) -> WireLog | None:
    """Decode a log record; None if it belongs to no span."""
    head = protobuf.LogBody.FromString(record)
    if not any(head.trace_id) or not any(head.span_id):
        return None
    try:
        return protobuf.log(record, resource)
    except DecodeError:
        return protobuf.undecoded_log(record)


def _signal_of(request: Any) -> Signal:
    """Return `TRACES` if any record has the trace id of a span."""
    for _, _, record in _records(request, Signal.TRACES):
        try:
            if len(protobuf.SpanHead.FromString(record).trace_id) == TRACE_ID:
                return Signal.TRACES
        except DecodeError:
            continue
    return Signal.LOGS


def _records(request: Any, signal: Signal) -> Iterator[tuple[str, Origin, bytes]]:
    """Yield each record with its location and origin."""
    groups, scopes, records = FIELDS[signal]
    for group_no, group in enumerate(request.groups):
        resource, resource_schema = group.resource, group.schema
        for scope_no, scope_group in enumerate(group.scopes):
            prefix = f"/{groups}/{group_no}/{scopes}/{scope_no}/{records}"
            origin = Origin(resource, scope_group.scope, resource_schema, scope_group.schema)
            for record_no, record in enumerate(scope_group.records):
                yield f"{prefix}/{record_no}", origin, record


def _span_of(origin: Origin, record: bytes, names: tuple[str, str]) -> RawSpan:
    head = protobuf.SpanHead.FromString(record)
    trace_id, span_id, parent_id = head.trace_id, head.span_id, head.parent_id
    check_ids(trace_id, span_id, parent_id)
    return RawSpan(
        signal=Signal.TRACES,
        trace_id=trace_id.hex(),
        span_id=span_id.hex(),
        parent_id=parent_id.hex() if any(parent_id) else "",
        name=protobuf.text(head.name),
        service=names[0],
        project=names[1],
        start=check_time(head.start),
        end=check_time(head.end),
        is_json=False,
        origin=origin,
        record=record,
    )


def _log_of(origin: Origin, record: bytes, names: tuple[str, str]) -> RawSpan | None:
    head = protobuf.LogBody.FromString(record)
    if not any(head.trace_id) or not any(head.span_id):
        return None
    check_ids(head.trace_id, head.span_id, b"")
    time = check_time(head.time or head.observed_time)
    return RawSpan(
        signal=Signal.LOGS,
        trace_id=head.trace_id.hex(),
        span_id=head.span_id.hex(),
        name=protobuf.text(head.event_name),
        service=names[0],
        project=names[1],
        start=time,
        is_json=False,
        origin=origin,
        record=record,
    )
