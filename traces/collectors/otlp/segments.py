"""OTLP requests: each record is checked, and those of a trace become one segment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from traces.importers.otlp.assembly import FORMAT
from traces.importers.otlp.batches import read_spans
from traces.importers.otlp.envelopes import json_envelope, protobuf_envelope
from traces.importers.otlp.raw_spans import FIELDS, RawSpan, Rejection, Signal, SpanBatch
from traces.recordings.arrivals import NewSegment

# As much of the reasons as fits into a log line of the exporter.
_MAX_REASONS = 5
# Bytes of resources and scopes, as often as they are stored: a resource with each trace, a scope with each step. Real
# ones have a few kB.
FREE_ORIGIN_BYTES: Final = 24 * 2**20
ORIGIN_BYTES_PER_BYTE: Final = 8
_LONG_ORIGIN: Final = "its resource and scope have {size:,} bytes, which this request repeats in too many records"


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """A request as segments, with the number of rejected records and why they were rejected."""

    segments: list[NewSegment]
    rejections: int
    reasons: str


def split(body: bytes, signal: Signal) -> Split:
    """Split a request into a segment for each trace. Raises `BadFile` for anything that is not a request."""
    batch = read_spans(body, signal)
    _limit_origins(batch, FREE_ORIGIN_BYTES + ORIGIN_BYTES_PER_BYTE * len(body))
    traces: dict[str, list[RawSpan]] = {}
    for record in batch.spans:
        traces.setdefault(record.trace_id, []).append(record)
    segments = [
        NewSegment(
            external_id=trace_id,
            format=FORMAT,
            data=_join(records),
            has_ended=any(record.is_root and record.has_ended for record in records),
        )
        for trace_id, records in traces.items()
    ]
    return Split(
        segments=segments,
        rejections=len(batch.rejections) + batch.unrelated_logs,
        reasons=_describe(batch.rejections, batch.unrelated_logs),
    )


def _limit_origins(batch: SpanBatch, max_bytes: int) -> None:
    """Reject the records that have no room for their resource and scope after those of the records before."""
    total, start = 0, 0
    # Not for each record: nearly all of a request have one origin.
    for origin, group in groupby(batch.spans, attrgetter("origin")):
        count = len([*group])
        size = sum(map(len, origin))
        total += count * size
        if total > max_bytes:
            start += count - min(count, (total - max_bytes) // size + 1)
            surplus = batch.spans[start:]
            del batch.spans[start:]
            for record in surplus:
                batch.reject(f"span {record.span_id}", _LONG_ORIGIN.format(size=sum(map(len, record.origin))))
            return
        start += count


def _join(records: Sequence[RawSpan]) -> bytes:
    """Join records as a request in protobuf or lines of JSON; those in a row share a copy of their resource and scope.

    Requests in protobuf can be joined: lists of the same field are one list.
    """
    groups = [(origin, [*group]) for origin, group in groupby(records, attrgetter("origin"))]
    if records[0].is_json:
        names = FIELDS[records[0].signal]
        return b"\n".join(json_envelope(names, origin, [span.record for span in group]) for origin, group in groups)
    return b"".join(protobuf_envelope(origin, [span.record for span in group]) for origin, group in groups)


def _describe(rejections: Iterable[Rejection], unrelated_logs: int) -> str:
    reasons = [f"{rejection.location}: {rejection.reason}" for rejection in rejections]
    if unrelated_logs:
        reasons.insert(0, f"log records without a trace and a span are not part of a run: {unrelated_logs}")
    more = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
    return "; ".join(reasons[:_MAX_REASONS]) + more
