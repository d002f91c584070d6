"""OTLP requests: each record is checked, and those of a trace become one segment."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from traces.importers.otlp.assembly import FORMAT
from traces.importers.otlp.batches import is_json, read_spans
from traces.importers.otlp.envelopes import protobuf_envelope
from traces.importers.otlp.raw_spans import RawSpan, Rejection, Signal
from traces.recordings.arrivals import NewSegment

# As much of the reasons as fits into a log line of the exporter.
_MAX_REASONS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """A request as segments, with the number of rejected records and why they were rejected."""

    segments: list[NewSegment]
    rejections: int
    reasons: str


def split(body: bytes, signal: Signal) -> Split:
    """Split a request into a segment for each trace. Raises `BadFile` for anything that is not a request."""
    batch = read_spans(body, signal)
    traces: dict[str, list[RawSpan]] = {}
    for record in batch.spans:
        traces.setdefault(record.trace_id, []).append(record)
    join = _join_lines if is_json(body) else _join_groups
    segments = [
        NewSegment(
            external_id=trace_id,
            format=FORMAT,
            data=join(records),
            has_ended=any(record.is_root and record.has_ended for record in records),
        )
        for trace_id, records in traces.items()
    ]
    return Split(
        segments=segments,
        rejections=len(batch.rejections) + batch.unrelated_logs,
        reasons=_describe(batch.rejections, batch.unrelated_logs),
    )


def _join_lines(records: Iterable[RawSpan]) -> bytes:
    return b"\n".join(record.data for record in records)


def _join_groups(records: Iterable[RawSpan]) -> bytes:
    """Join records in protobuf; those in a row have one copy of their resource and scope.

    Requests in protobuf can be joined: lists of the same field are one list.
    """
    groups = groupby(records, attrgetter("origin"))
    return b"".join(protobuf_envelope(origin, [record.record for record in group]) for origin, group in groups)


def _describe(rejections: Iterable[Rejection], unrelated_logs: int) -> str:
    reasons = [f"{rejection.location}: {rejection.reason}" for rejection in rejections]
    if unrelated_logs:
        reasons.insert(0, f"log records without a trace and a span are not part of a run: {unrelated_logs}")
    more = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
    return "; ".join(reasons[:_MAX_REASONS]) + more
