"""Reading of export requests in protobuf as independent records."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from traces.importers.files.errors import BadFile
from traces.importers.otlp import protobuf
from traces.importers.otlp.raw_spans import (
    FIELDS,
    TRACE_ID,
    RawSpan,
    Signal,
    SpanBatch,
    UnusableRecord,
    check_ids,
    check_time,
    resource_names,
)


def read_protobuf(body: bytes, signal: Signal | None) -> SpanBatch:
    """Read a request. Raises `BadFile` for other bytes."""
    try:
        request = protobuf.Request.FromString(body)
    except DecodeError as error:
        raise BadFile("the body is neither an OTLP request in protobuf nor JSON", "byte 0") from error
    signal = signal or _signal_of(request)
    batch = SpanBatch(signal=signal)
    read = _span_of if signal is Signal.TRACES else _log_of
    names: dict[bytes, tuple[str, str]] = {}
    for location, resource, scope, record in _records(request, signal):
        try:
            if resource not in names:
                names[resource] = resource_names(protobuf.resource_attributes(resource))
            batch.add(read(resource, scope, record, names[resource]))
        except DecodeError as problem:
            batch.reject(location, f"it cannot be decoded: {problem}")
        except UnusableRecord as problem:
            batch.reject(location, str(problem))
    return batch


def _signal_of(request: Any) -> Signal:
    """Return `TRACES` if any record has the trace id of a span."""
    for _, _, _, record in _records(request, Signal.TRACES):
        try:
            if len(protobuf.SpanHead.FromString(record).trace_id) == TRACE_ID:
                return Signal.TRACES
        except DecodeError:
            continue
    return Signal.LOGS


def _records(request: Any, signal: Signal) -> Iterator[tuple[str, bytes, bytes, bytes]]:
    """Yield each record with its location, resource and scope."""
    groups, scopes, records = FIELDS[signal]
    for group_no, group in enumerate(request.groups):
        resource = group.resource
        for scope_no, scope_group in enumerate(group.scopes):
            scope, prefix = scope_group.scope, f"/{groups}/{group_no}/{scopes}/{scope_no}/{records}"
            for record_no, record in enumerate(scope_group.records):
                yield f"{prefix}/{record_no}", resource, scope, record


def _span_of(resource: bytes, scope: bytes, record: bytes, names: tuple[str, str]) -> RawSpan:
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
        resource=resource,
        scope=scope,
        record=record,
    )


def _log_of(resource: bytes, scope: bytes, record: bytes, names: tuple[str, str]) -> RawSpan | None:
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
        resource=resource,
        scope=scope,
        record=record,
    )
