"""Values that an execution generated after a change, as opposed to those that its code made of the change. Pure.

A hash of an answer looks like a new id, and a date 14 days after another one like a new date. After a change, a value
that differs counts as generated only with evidence: its form is random, the program generated one of the same form
before, or it moved as the clock did.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import RFC_4122, UUID

from replay.reruns.core.volatile_values import written_times
from replay.reruns.core.volatile_values.volatile_tokens import CLOCK_KINDS, ID_KINDS, Kind

# Of a time with a random or counted rest. Versions 3 and 5 are hashes of a content.
_GENERATED_VERSIONS: Final = frozenset({1, 4, 6, 7})
_HEX_OF_UUID: Final = re.compile(r"[0-9a-f]{32}$|[0-9A-F]{32}$|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
# Of Python's `tempfile`.
_TEMPORARY_NAME: Final = re.compile(r"(?:^|/)tmp[a-z0-9_]{8}(?:\.\w+)?$")
_WEEKDAY: Final = re.compile(r"^[A-Za-z]{3,9}\.?,? (?=[A-Za-z0-9])")
_DATES: Final = ("%d %B %Y", "%B %d %Y", "%d %b %Y", "%b %d %Y", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%y")
_CLOCKS: Final = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
_DAY: Final = timedelta(days=1)
# Clocks of several machines, and summer time.
_SLACK: Final = timedelta(hours=1, minutes=5)
_MILLISECONDS: Final = 100_000_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Generator:
    """What is known of the values that a program generates.

    `names` are its values so far that differed, as of a `Renaming`. `clock_shift` is by how much its clock moved
    between the executions, at least and at most; None if it is not known when the recording was made.
    """

    names: Sequence[tuple[str, str, str]] = ()
    clock_shift: tuple[timedelta, timedelta] | None = None

    def explains(self, kind: Kind, old: str, new: str) -> bool:
        """Return whether both values were generated, by the execution that has them."""
        if kind in ID_KINDS:
            return _are_uuids(old, new) or _form(old) in self._forms("id")
        if kind in CLOCK_KINDS:
            return self._is_of_clock(old, new)
        if kind == "path":
            return all(map(_TEMPORARY_NAME.search, (old, new))) or _form(old) in self._forms(kind)
        # Nothing that an agent does is measured in minutes. No code makes a port of a content.
        return kind != "minutes"

    def _forms(self, space: str) -> set[str]:
        return {_form(old) for kind, old, _ in self.names if kind == space}

    def _is_of_clock(self, old: str, new: str) -> bool:
        before, after = _moment(old), _moment(new)
        if before is None or after is None or self.clock_shift is None:
            shapes = {written_times.shape(value) for kind, value, _ in self.names if kind in CLOCK_KINDS}
            return written_times.shape(old) in shapes
        slack = _SLACK + (_DAY if _is_date(before) else timedelta())
        earliest, latest = self.clock_shift[0] - slack, self.clock_shift[1] + slack
        shift = after - before
        if before.year == after.year == 1900:
            # A clock time without a date moves around the clock.
            return any(earliest <= shift + turn * _DAY <= latest for turn in range(-1, latest // _DAY + 2))
        return earliest <= shift <= latest


def _are_uuids(*values: str) -> bool:
    """Return whether all values are or end with a UUID of a version that is generated."""
    return all(match is not None and _is_generated(UUID(match[0])) for match in map(_HEX_OF_UUID.search, values))


def _is_generated(id: UUID) -> bool:
    return id.variant == RFC_4122 and id.version in _GENERATED_VERSIONS


def _form(value: str) -> str:
    """Return how a generated value is written: its words, its length, and the case of its letters."""
    prefix = re.sub(r"[A-Za-z0-9]*$", "", value.partition(".")[0])
    rest = value[len(prefix) :]
    letters = "lower" if rest.islower() else "upper" if rest.isupper() else ""
    return f"{prefix} {len(rest)} {'hex' if re.fullmatch(r'[0-9a-fA-F]+', rest) else ''} {letters}"


def _moment(text: str) -> datetime | None:
    """Return the time of a text; of a clock time alone on 1 January 1900. None for other forms."""
    with suppress(ValueError):
        number = float(text)
        return datetime.fromtimestamp(number / 1_000 if number > _MILLISECONDS else number, UTC)
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    plain = _WEEKDAY.sub("", text.replace(",", ""))
    return next(_candidates((plain, text)), None)


def _candidates(texts: Iterable[str]) -> Iterator[datetime]:
    for text in texts:
        for form in (*_DATES, *_CLOCKS):
            with suppress(ValueError):
                yield datetime.strptime(text, form).replace(tzinfo=UTC)


def _is_date(moment: datetime) -> bool:
    return (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
