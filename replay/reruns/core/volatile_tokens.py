"""Volatile tokens in texts: what differs between two executions of the same code. Pure.

Dates, times, ids, temporary paths, local ports, and durations with their unit. A plain number or a word is never
volatile: an amount or a name that differs changes the request. A number is a time only if its field says so.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from traces.core.json_access import is_number
from traces.core.json_types import JSONValue

Kind = Literal["time", "date", "id", "hex", "duration", "path", "port"]

_START, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_DAY: Final = r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK: Final = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# A folder or file with a generated name; what is below the folder is no part of it.
_TEMPORARY: Final = r"/(?:private/)?(?:tmp|var/tmp|var/folders/\w+/\w+/T)/[\w.-]*[\w-]"
# In this order, because one may contain another. What stands after an id's prefix is generated.
_PATTERNS: Final[dict[str, str]] = {
    "time": rf"{_START}{_DAY}[T ]{_CLOCK}{_END}",
    "date": rf"{_START}{_DAY}{_END}",
    "id": rf"{_START}(?:{_UUID}|[A-Za-z]{{2,12}}(?:[-_][A-Za-z]{{1,12}}){{0,2}}[-_][A-Za-z0-9]{{10,}}){_END}",
    "duration": rf"{_START}\d+(?:\.\d+)?(?= ?(?:ms|s|sec|secs|seconds?|minutes?)\b)",
    "path": _TEMPORARY,
    "port": r"(?:(?<=127\.0\.0\.1:)|(?<=localhost:))\d{2,5}(?!\d)",
    "hex": rf"{_START}[0-9a-f]{{6,64}}{_END}",
}
_TOKEN: Final = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_LAST_PART: Final = re.compile(r"[A-Za-z0-9]*$")
# Of a field with a time since 1970, such as `created`, `startedAt` or `turn_started_at_unix_ms`.
_TIME_NAME: Final = re.compile(
    r"(?:^|_)(?:at|created|time|timestamp)(?:_(?:unix|s|ms))*$|[a-z](?:At|Time|Timestamp)(?:S|Ms)?$"
)
# From 2015 to 2100.
_EARLIEST_S: Final = 1_420_070_400
_LATEST_S: Final = 4_102_444_800
# Measured anew each time, so that equal values mean nothing.
MEASURED_KINDS: Final = frozenset({"duration"})
# Equal dates at two places need not be the same fact.
CLOCK_KINDS: Final = frozenset({"time", "date"})


class Token(NamedTuple):
    """A volatile token of a text, or the text between two; then the kind is empty."""

    kind: Kind | Literal[""]
    text: str


def tokens(text: str) -> Iterator[Token]:
    """Cut a text at its volatile tokens."""
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() > at:
            yield Token("", text[at : match.start()])
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # the groups have the names of the kinds
        yield Token(kind, match[0])
        at = match.end()
    if at < len(text):
        yield Token("", text[at:])


def are_times(name: str, *values: JSONValue) -> bool:
    """Return whether the values of a field are times, in seconds or milliseconds since 1970."""
    return _TIME_NAME.search(name) is not None and (
        all(_is_between(value, 1) for value in values) or all(_is_between(value, 1_000) for value in values)
    )


def may_replace(kind: Kind, old: str, new: str) -> bool:
    """Return whether two tokens of a kind can be the same value of two executions.

    A generated name may consist of letters or of digits alone by chance, but then the other one rarely does.
    """
    if kind == "hex":
        return len(old) == len(new) and (_is_mixed(old) or _is_mixed(new))
    if kind == "id":
        return _prefix(old) == _prefix(new) and (_is_mixed(_last(old)) or _is_mixed(_last(new)))
    if kind == "path":
        folder, name = old.rsplit("/", 1)
        other_folder, other_name = new.rsplit("/", 1)
        same_place = _suffix(name) == _suffix(other_name) and folder.count("/") == other_folder.count("/")
        return same_place and (_is_generated(name) or _is_generated(other_name))
    return True


def _is_between(value: JSONValue, units: int) -> bool:
    return is_number(value) and _EARLIEST_S * units <= value < _LATEST_S * units


def _is_mixed(text: str) -> bool:
    return not text.isdigit() and not text.isalpha()


def _is_generated(name: str) -> bool:
    return name.startswith("tmp") or _is_mixed(name.partition(".")[0])


def _last(id: str) -> str:
    """Return the generated part of an id: all of a uuid, else what follows the prefix."""
    match = _LAST_PART.search(id)
    return id if re.fullmatch(_UUID, id) else match[0] if match else ""


def _prefix(id: str) -> str:
    return "" if re.fullmatch(_UUID, id) else id.removesuffix(_last(id))


def _suffix(name: str) -> str:
    return name.rpartition(".")[2] if "." in name else ""
