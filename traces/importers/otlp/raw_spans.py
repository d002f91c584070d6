"""Independent OTLP records: a span or log record with what is needed to receive, order and store it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.core.step_header import step_view
from traces.importers.otlp.envelopes import Origin, json_envelope, protobuf_envelope

TRACE_ID: Final = 16  # bytes
SPAN_ID: Final = 8
# Of the ids of a trace, a span and its parent.
_USUAL_LENGTHS: Final = ((TRACE_ID, SPAN_ID, SPAN_ID), (TRACE_ID, SPAN_ID, 0))
# In the year 2262. A larger number is a negative one in protobuf.
_LAST_NANOSECOND: Final = 2**63 - 1


class Signal(StrEnum):
    """What the records of a request are."""

    TRACES = "traces"
    LOGS = "logs"


# The names of the lists in a request, outermost first.
FIELDS: Final = {
    Signal.TRACES: ("resourceSpans", "scopeSpans", "spans"),
    Signal.LOGS: ("resourceLogs", "scopeLogs", "logRecords"),
}


@step_view
class RawSpan:
    """A span, or a log record of a span, still encoded, with where it comes from.

    Times are in nanoseconds, 0 if unknown. A log record has only ids, resource and time.
    """

    signal: Signal
    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    service: str = ""
    project: str = ""
    start: int = 0
    end: int = 0
    is_json: bool
    origin: Origin
    record: bytes

    @property
    def data(self) -> bytes:
        """An OTLP request with only this record."""
        if self.is_json:
            return json_envelope(FIELDS[self.signal], self.origin, [self.record])
        return protobuf_envelope(self.origin, [self.record])

    @property
    def has_ended(self) -> bool:
        return self.end > 0

    @property
    def is_root(self) -> bool:
        return self.signal is Signal.TRACES and not self.parent_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejection:
    """A record of a request that cannot be used, and why."""

    location: str
    reason: str


@dataclass(kw_only=True, slots=True)
class SpanBatch:
    """The records of a request. Log records without a span are only counted: they are not part of a run."""

    signal: Signal
    spans: list[RawSpan] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    unrelated_logs: int = 0

    def add(self, span: RawSpan | None) -> None:
        """Add a record; None is a log record without a span."""
        if span is None:
            self.unrelated_logs += 1
        else:
            self.spans.append(span)

    def reject(self, location: str, reason: str) -> None:
        self.rejections.append(Rejection(location=location, reason=reason))


class UnusableRecord(Exception):
    """A record that cannot be used; the message is the reason."""


def check_ids(trace_id: bytes, span_id: bytes, parent_id: bytes) -> None:
    """Raise `UnusableRecord` for an id that is absent or of a wrong length; a span may have no parent."""
    lengths = (len(trace_id), len(span_id), len(parent_id))
    if lengths in _USUAL_LENGTHS and any(trace_id) and any(span_id):
        return
    for name, identifier, length in (("trace", trace_id, TRACE_ID), ("span", span_id, SPAN_ID)):
        if not any(identifier):
            raise UnusableRecord(f"it has no {name} id")
        _check_length(name, identifier, length)
    if parent_id:
        _check_length("parent", parent_id, SPAN_ID)


def check_time(nanoseconds: int) -> int:
    """Return a time; raise `UnusableRecord` if it is out of range."""
    if not 0 <= nanoseconds <= _LAST_NANOSECOND:
        raise UnusableRecord("its time is negative or after the year 2262")
    return nanoseconds


def resource_names(attributes: JSONObject) -> tuple[str, str]:
    """Return the names of the service and of the project in a resource."""
    return as_text(attributes.get("service.name")), as_text(attributes.get("openinference.project.name"))


def _check_length(name: str, identifier: bytes, length: int) -> None:
    if len(identifier) != length:
        raise UnusableRecord(f"its {name} id has {len(identifier)} bytes instead of {length}")
