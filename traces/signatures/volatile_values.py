"""Volatile values: times and ids, which identify an event rather than the request. Pure."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from traces.core.json_types import JSONValue

Kind = Literal["uuid", "timestamp", "hex", "date", "id"]

_BEFORE, _AFTER = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_DAY: Final = r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK: Final = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:\s?(?:Z|[+-]\d\d:?\d\d))?"
_EPOCH: Final = r"1[5-9]\d{8}(?:\.\d+|\d{3})?"  # seconds or milliseconds, from 2017 to 2033
# In this order: a uuid is hexadecimal, and both are ids.
_PATTERNS: Final[Mapping[Kind, re.Pattern[str]]] = {
    "uuid": re.compile(rf"{_BEFORE}[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}{_AFTER}"),
    "timestamp": re.compile(rf"{_BEFORE}(?:{_DAY}[T ]{_CLOCK}|{_EPOCH}){_AFTER}"),
    "hex": re.compile(rf"{_BEFORE}(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{{16,}}{_AFTER}"),
    "date": re.compile(rf"{_BEFORE}{_DAY}{_AFTER}"),
    "id": re.compile(
        r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*(?![A-Za-z0-9_-])"
    ),
}
KINDS: Final = tuple(_PATTERNS)
# Anything shorter is a name, such as `v2` or `step-3`.
_MIN_ID_LENGTH: Final = 8


def mask(text: str, kind: Kind) -> str:
    """Replace every value of a kind in `text` with the kind's name."""
    min_length = _MIN_ID_LENGTH if kind == "id" else 1
    return _PATTERNS[kind].sub(lambda match: f"<{kind}>" if len(match[0]) >= min_length else match[0], text)


def masking(before: str, after: str) -> Kind | None:
    """Return the first kind whose masking makes two different texts equal."""
    return next((kind for kind in KINDS if mask(before, kind) == mask(after, kind)), None)


def kind_of(value: JSONValue) -> Kind | None:
    """Return the kind of a value that is entirely a time or an id."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value)
    return next((kind for kind in KINDS if mask(text, kind) == f"<{kind}>"), None)
