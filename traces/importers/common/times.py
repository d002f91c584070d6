"""Times as recordings write them: ISO texts with and without a zone, and Unix seconds, milliseconds, nanoseconds."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from traces.core.json_types import JSONValue
from traces.importers.files.errors import BadFile

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE: Final = re.compile(r"-?[0-9]{1,30}")
_FRACTION: Final = re.compile(r"\.(\d{6})\d+")
_LAST: Final = 253_402_300_799  # the last second of the year 9999
_UNITS: Final = ((10**17, 1_000_000_000), (10**14, 1_000_000), (10**11, 1_000))  # above this number: parts of a second


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Start and end; an end before its start is no end, and was recorded as `odd_end`."""

    start: datetime | None
    end: datetime | None
    odd_end: str = ""


def parse_time(value: JSONValue, where: str) -> datetime | None:
    """`value` as a UTC time; None when absent; raises `BadFile` when it is none or out of range."""
    if value is None or value == "" or value == 0 or value == "0":
        return None
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        return _from_text(value, where)
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return _from_number(float(value) if isinstance(value, float) else int(value), where)
    raise BadFile("a time was expected", where)


def parse_span(start: JSONValue, end: JSONValue, where: str) -> Span:
    """Start and end of one step."""
    begun, ended = parse_time(start, where), parse_time(end, where)
    if begun and ended and ended < begun:
        return Span(start=begun, end=None, odd_end=ended.isoformat())
    return Span(start=begun, end=ended)


def add_milliseconds(start: datetime | None, milliseconds: JSONValue) -> datetime | None:
    """The time so many milliseconds later, when both are known."""
    if start is None or isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    if not 0 <= milliseconds < 10**12:
        return None
    try:
        return start + timedelta(milliseconds=milliseconds)
    except OverflowError:  # after the year 9999
        return None


def _from_text(value: str, where: str) -> datetime:
    # Prela's HTTP exporter writes an offset and a Z; some clients write nanoseconds.
    given = value.strip().removesuffix("Z") if re.search(r"[+-]\d\d:?\d\dZ$", value) else value.strip()
    try:
        parsed = datetime.fromisoformat(_FRACTION.sub(r".\1", given))
        aware = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadFile(f"{value[:60]!r} is not a time", where) from error
    if aware < _EPOCH:
        raise BadFile(f"{value[:60]!r} lies before 1970", where)
    return aware


def _from_number(value: float, where: str) -> datetime:
    divisor = next((divisor for above, divisor in _UNITS if value > above), 1)
    if not 0 <= value / divisor <= _LAST:
        raise BadFile(f"{str(value)[:40]} is not a time", where)
    # whole microseconds, by integers: a float of nanoseconds would be off by hundreds
    micro = value * 1_000_000 // divisor if isinstance(value, int) else round(value * 1_000_000 / divisor)
    return _EPOCH + timedelta(microseconds=int(micro))
