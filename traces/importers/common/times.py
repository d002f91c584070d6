"""Recorded times: ISO texts with or without a zone, and Unix times from seconds to nanoseconds."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from traces.core.json_access import is_number
from traces.core.json_types import JSONValue
from traces.importers.files.errors import BadFile

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE: Final = re.compile(r"-?[0-9]{1,30}")
_FRACTION: Final = re.compile(r"\.(\d{6})\d+")
_LAST: Final = 253_402_300_799  # the last second of the year 9999
_NANOSECONDS: Final = 10**17
# A number above the first value is divided by the second to get seconds.
_UNITS: Final = ((_NANOSECONDS, 1_000_000_000), (10**14, 1_000_000), (10**11, 1_000))


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Start and end. An end before the start is moved to `invalid_end`."""

    start: datetime | None
    end: datetime | None
    invalid_end: str = ""


def parse_time(value: JSONValue, location: str) -> datetime | None:
    """Return `value` as a UTC time, or None when absent. Raises `BadFile` for an invalid time."""
    if type(value) is int and _NANOSECONDS < value < _LAST * 10**9:
        return _EPOCH + timedelta(microseconds=value // 1_000)
    if value is None or value == "" or value == 0 or value == "0":
        return None
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        return _parse_iso_text(value, location)
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return _parse_unix_time(float(value) if isinstance(value, float) else int(value), location)
    raise BadFile("a time was expected", location)


def parse_span(start: JSONValue, end: JSONValue, location: str) -> Span:
    """Parse the start and end of a step."""
    started_at, ended_at = parse_time(start, location), parse_time(end, location)
    if started_at and ended_at and ended_at < started_at:
        return Span(start=started_at, end=None, invalid_end=ended_at.isoformat())
    return Span(start=started_at, end=ended_at)


def add_milliseconds(start: datetime | None, milliseconds: JSONValue) -> datetime | None:
    """Add milliseconds to `start`; return None if either is unknown or the result is out of range."""
    if start is None or not is_number(milliseconds):
        return None
    if not 0 <= milliseconds < 10**12:
        return None
    try:
        return start + timedelta(milliseconds=milliseconds)
    # After the year 9999.
    except OverflowError:
        return None


def _parse_iso_text(value: str, location: str) -> datetime:
    # Prela's HTTP exporter writes both an offset and a Z. Some clients write nanoseconds.
    iso_text = value.strip().removesuffix("Z") if re.search(r"[+-]\d\d:?\d\dZ$", value) else value.strip()
    # As Langflow and BigQuery write it.
    iso_text = iso_text.removesuffix(" UTC")
    try:
        time = datetime.fromisoformat(_FRACTION.sub(r".\1", iso_text))
        aware = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadFile(f"“{value[:60]}” is not a time", location) from error
    if aware < _EPOCH:
        raise BadFile(f"“{value[:60]}” lies before 1970", location)
    return aware


def _parse_unix_time(value: float, location: str) -> datetime:
    divisor = next((divisor for threshold, divisor in _UNITS if value > threshold), 1)
    if not 0 <= value / divisor <= _LAST:
        raise BadFile(f"{str(value)[:40]} is not a time", location)
    # Integer arithmetic: a float of nanoseconds would be off by hundreds.
    micro = value * 1_000_000 // divisor if isinstance(value, int) else round(value * 1_000_000 / divisor)
    return _EPOCH + timedelta(microseconds=int(micro))
