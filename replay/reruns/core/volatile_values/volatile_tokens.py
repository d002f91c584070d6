"""Volatile tokens in texts: what differs between two executions of the same code. Pure.

Dates, times, ids, temporary paths, local ports, addresses in memory, and durations with their unit. A plain number or a
word is never volatile: an amount or a name that differs changes the request. A number is a time only if its field says
so. Both values must have the same kind and form.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final, Literal, NamedTuple

from replay.reruns.core.volatile_values import written_times
from traces.core.json_access import is_number
from traces.core.json_types import JSONValue

Kind = Literal["time", "date", "clock", "id", "hex", "duration", "minutes", "path", "port"]

_START, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_DAY: Final = r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK: Final = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_SEGMENT: Final = r"[\w.-]*[\w-]"
_LOCAL_HOSTS: Final = (r"127\.0\.0\.1", "localhost", r"0\.0\.0\.0", r"\[::1\]", r"\[::\]")
# A folder or file below a folder for temporary ones. Deeper ones follow as tokens of their own.
_TEMPORARY: Final = rf"/(?:private/)?(?:tmp|temp|var/tmp|dev/shm|var/folders/\w+/\w+/T)/{_SEGMENT}"
# What Python names a temporary folder or file, wherever it is.
_PYTHON_TEMPORARY: Final = r"(?<=/)tmp[a-z0-9_]{8}(?![\w-])"
# An id with a prefix, behind which it is generated; a nanoid; a ULID, a KSUID, and others of letters and digits.
_ID_WITH_PREFIX: Final = r"[A-Za-z]{2,12}(?:[-_][A-Za-z]{1,12}){0,2}[-_][A-Za-z0-9]{10,}"
_NANOID: Final = r"(?=[\w-]{0,20}[A-Z])(?=[\w-]{0,20}[a-z])(?=[\w-]{0,20}\d)[A-Za-z0-9_-]{21}(?![_-])"
_RANDOM_TEXT: Final = r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,64}"
# In this order, because one may contain another.
_PATTERNS: Final[dict[str, str]] = {
    "time": rf"{_START}{_DAY}[T ]{_CLOCK}{_END}|{written_times.TIME}",
    "date": rf"{_START}{_DAY}{_END}|{written_times.DATE}",
    "clock": written_times.CLOCK,
    "path": rf"{_TEMPORARY}|{_PYTHON_TEMPORARY}",
    "id": rf"{_START}(?:{_UUID}|{_ID_WITH_PREFIX}|{_NANOID}){_END}",
    "duration": rf"{_START}\d+(?:\.\d+)?(?= ?(?:ms|s|sec|secs|seconds?)\b)",
    "minutes": rf"{_START}\d+(?:\.\d+)?(?= ?minutes?\b)",
    "port": rf"(?:{'|'.join(rf'(?<={host}:)' for host in _LOCAL_HOSTS)})\d{{2,5}}(?!\d)",
    # Shorter ones in capitals are numbers of things, as those of flights. Of an object in memory: 0x7f...
    "hex": rf"{_START}(?:[0-9a-f]{{6,64}}|[0-9A-F]{{8,64}}|0x[0-9a-fA-F]{{6,16}}){_END}|{_START}{_RANDOM_TEXT}{_END}",
}
_TOKEN: Final = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_DEEPER: Final = re.compile(rf"/({_SEGMENT})")
_LOWER_HEX: Final = re.compile(r"[0-9a-f]+")
_NANOID_ONLY: Final = re.compile(_NANOID)
# Of Python and of pytest.
_TEMPORARY_NAME: Final = re.compile(r"tmp[a-z0-9_]{6,}|pytest-\d+")
_SHORT_NUMBER: Final = re.compile(r"\d{1,2}$")
_WORDS: Final = re.compile(r"(?:.*[_.-])?")
_SHORTEST_NAME: Final = 6
_FEWEST_DIFFERENCES: Final = 4
_RUNS: Final = re.compile(r"[a-z]+|[A-Z]+|\d+")
_FEWEST_RUNS: Final = 4
_LONG: Final = 20
_LAST_PART: Final = re.compile(r"[A-Za-z0-9]*$")
# Of a field with a time since 1970, such as `created`, `startedAt` or `turn_started_at_unix_ms`.
_TIME_NAME: Final = re.compile(
    r"(?:^|_)(?:at|created|time|timestamp)(?:_(?:unix|s|ms))*$|[a-z](?:At|Time|Timestamp)(?:S|Ms)?$"
)
# From 2015 to 2100.
_EARLIEST_S: Final = 1_420_070_400
_LATEST_S: Final = 4_102_444_800
# Measured anew each time, so that equal values mean nothing.
MEASURED_KINDS: Final = frozenset({"duration", "minutes"})
# Generated at random, so that no execution generates one of another execution.
ID_KINDS: Final = frozenset({"id", "hex"})
# Equal dates at two places need not be the same fact.
CLOCK_KINDS: Final = frozenset({"time", "date", "clock"})


class Token(NamedTuple):
    """A volatile token of a text, or the text between two; then the kind is empty."""

    kind: Kind | Literal[""]
    text: str


def tokens(text: str) -> Iterator[Token]:
    """Cut a text at its volatile tokens."""
    at = 0
    while match := _TOKEN.search(text, at):
        if match.start() > at:
            yield Token("", text[at : match.start()])
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # the groups have the names of the kinds
        yield Token(kind, match[0])
        at = match.end()
        while kind == "path" and (segment := _DEEPER.match(text, at)):
            yield Token("", "/")
            yield from _segment_tokens(segment[1])
            at = segment.end()
    if at < len(text):
        yield Token("", text[at:])


def _segment_tokens(segment: str) -> list[Token]:
    """Return the tokens of a name below a temporary folder: it is one if it contains no other, such as a date."""
    parts = [*tokens(segment)]
    return parts if any(part.kind for part in parts) else [Token("path", segment)]


def are_times(name: str, *values: JSONValue) -> bool:
    """Return whether the values of a field are times, in seconds or milliseconds since 1970."""
    return _TIME_NAME.search(name) is not None and (
        all(_is_between(value, 1) for value in values) or all(_is_between(value, 1_000) for value in values)
    )


def may_replace(kind: Kind, old: str, new: str) -> bool:
    """Return whether two tokens of a kind can be the same value of two executions.

    A generated name may consist of letters or of digits alone by chance, but then the other one rarely does.
    """
    if kind in CLOCK_KINDS:
        return written_times.shape(old) == written_times.shape(new)
    if kind == "hex":
        if _LOWER_HEX.fullmatch(old) and _LOWER_HEX.fullmatch(new):
            return _are_unlike(old, new) and (_is_mixed(old) or _is_mixed(new))
        return _are_addresses(old, new) or (_are_random(old, new) and (_alternates(old) or _alternates(new)))
    if kind == "id" and _prefix(old) == _prefix(new) and (_is_mixed(_last(old)) or _is_mixed(_last(new))):
        return _prefix(old) == "" or _are_generated(_last(old), _last(new))
    if kind == "id":
        return (
            _NANOID_ONLY.fullmatch(old) is not None
            and _NANOID_ONLY.fullmatch(new) is not None
            and _are_random(old, new)
        )
    if kind == "path":
        return _are_temporary(old, new)
    return True


def _are_temporary(old: str, new: str) -> bool:
    """Return whether both are names of temporary files, with the folder for such files or below one."""
    folder, _, name = old.rpartition("/")
    other_folder, _, other_name = new.rpartition("/")
    if _suffix(name) != _suffix(other_name) or folder.count("/") != other_folder.count("/"):
        return False
    if folder:
        return (_is_generated(name) or _is_generated(other_name)) and not _are_counted(name, other_name)
    if all(_TEMPORARY_NAME.fullmatch(item) for item in (name, other_name)):
        return True
    # What both have before the generated part, such as `agent-` and the suffix.
    start = len(_WORDS.match(_common_start(name, other_name))[0])  # type: ignore[index]  # it matches the empty text, too
    parts = name.partition(".")[0][start:], other_name.partition(".")[0][start:]
    return all(len(part) >= _SHORTEST_NAME for part in parts) and any(map(_is_mixed, parts)) and _are_random(*parts)


def _common_start(old: str, new: str) -> str:
    return "".join(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _are_random(old: str, new: str) -> bool:
    """Return whether two values are unlike each other, and of the same case."""
    has_same_case = old.isupper() == new.isupper() and old.islower() == new.islower()
    return has_same_case and _are_unlike(old, new)


def _are_unlike(old: str, new: str) -> bool:
    """Return whether two values of a length differ in so many places that neither is the other one, edited."""
    count = sum(left != right for left, right in zip(old, new, strict=False))
    return len(old) == len(new) and count >= max(_FEWEST_DIFFERENCES, len(old) // 4)


def _are_generated(old: str, new: str) -> bool:
    """Return whether both are what follows the prefix of an id, rather than a word or a date with a number."""
    are_edits = len(old) == len(new) and not _are_unlike(old, new)
    return not are_edits and (_alternates(old) or _alternates(new))


def _are_addresses(old: str, new: str) -> bool:
    return old.startswith("0x") and new.startswith("0x")


def _alternates(text: str) -> bool:
    """Return whether letters and digits change as often as by chance, unlike in numbers of accounts or customers."""
    return len(_RUNS.findall(text)) > (_FEWEST_RUNS if len(text) >= _LONG else _FEWEST_RUNS // 2)


def _is_between(value: JSONValue, units: int) -> bool:
    return is_number(value) and _EARLIEST_S * units <= value < _LATEST_S * units


def _is_mixed(text: str) -> bool:
    return not text.isdigit() and not text.isalpha()


def _is_generated(name: str) -> bool:
    return name.startswith("tmp") or _is_mixed(name.partition(".")[0])


def _are_counted(old: str, new: str) -> bool:
    """Return whether two names differ only in a short number at their end, as `report1.csv` and `report2.csv` do."""
    stems = [_SHORT_NUMBER.sub("", name.partition(".")[0]) for name in (old, new)]
    return stems[0] == stems[1] != "" and not _TEMPORARY_NAME.fullmatch(old)


def _last(id: str) -> str:
    """Return the generated part of an id: all of a uuid, else what follows the prefix."""
    match = _LAST_PART.search(id)
    return id if re.fullmatch(_UUID, id) else match[0] if match else ""


def _prefix(id: str) -> str:
    return "" if re.fullmatch(_UUID, id) else id.removesuffix(_last(id))


def _suffix(name: str) -> str:
    return name.rpartition(".")[2] if "." in name else ""
