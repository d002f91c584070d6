"""Canonical JSON (RFC 8785) and digests.

Two values that are equal as JSON have the same canonical bytes, so a SHA-256 over them names the value.
One deviation, because recordings carry them: integers between 2^53 and 2^64 keep their exact digits.
"""

import hashlib
import math
from types import NoneType
from typing import Any, Final

import orjson
import rfc8785

from traces.core.json_types import JSONValue

MAX_DEPTH: Final = 200
_EXACT_INT: Final = 2**53
_VETTED_DEPTH: Final = 8  # of lists that need no check: references to parts lie three levels deep
_ORJSON: Final = orjson.OPT_SORT_KEYS
# What orjson would write otherwise than RFC 8785 says.
_WHOLE: Final = 1  # floats without a fraction: 1.0, which is written as 1
_HARD: Final = 2  # keys that are not ASCII, very large and very small floats


class Vetted(list[JSONValue]):
    """A list whose canonical form is known to be what orjson writes, such as one of references to parts."""


_CONSTANTS: Final = frozenset({NoneType, bool, Vetted})


class NotCanonical(ValueError):
    """A value that has no canonical JSON form; `where` is the JSON pointer of the part that has none."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str] = []

    @property
    def where(self) -> str:
        return "".join(f"/{escape_pointer(key)}" for key in reversed(self.path)) or "/"

    def __str__(self) -> str:
        return f"{self.problem} at {self.where}"


def canonical_bytes(value: JSONValue) -> bytes:
    """The RFC 8785 bytes of `value`; raises `NotCanonical`."""
    if _is_plain(value):
        return orjson.dumps(value, option=_ORJSON)
    found = _check(value, 0)
    if found & _HARD:
        return _slow(value)
    return orjson.dumps(_with_integers(value) if found else value, option=_ORJSON)


def digest_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: JSONValue) -> str:
    """SHA-256 (hex) of the canonical form of `value`."""
    return digest_bytes(canonical_bytes(value))


def escape_pointer(key: str) -> str:
    """One reference token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _is_plain(value: JSONValue) -> bool:
    """Whether orjson's sorted output is the canonical form, seen at a glance: ASCII, small integers, few containers.

    False only means that a closer look is needed. Three times as fast as that look, and enough for most values.
    """
    pending: list[Any] = [value]
    texts: list[str] = []
    containers = 0
    for item in pending:  # grows while it is read
        kind = type(item)
        if kind is str:
            texts.append(item)
        elif kind is dict:
            containers += 1
            texts += item
            pending += item.values()
        elif kind is list:
            containers += 1
            pending += item
        elif kind not in _CONSTANTS and not (kind is int and -_EXACT_INT < item < _EXACT_INT):
            return False
    try:
        ascii = "".join(texts).isascii()
    except TypeError:  # a key that is not text
        return False
    return ascii and containers < MAX_DEPTH - _VETTED_DEPTH  # so few cannot be nested too deep


def _check(value: JSONValue, depth: int) -> int:
    """Refuse what is not JSON; 0 when orjson's sorted output already is the canonical form, else what is in the way.

    orjson sorts keys by code point and RFC 8785 by UTF-16 unit, which agree on ASCII; it also writes
    some numbers with another exponent than ECMAScript does.
    """
    if isinstance(value, str):
        return _check_text(value)
    if value is None or isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return _check_int(value)
    if isinstance(value, float):
        return _check_float(value)
    if depth > MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return _check_object(value, depth)
    if isinstance(value, list):
        return _check_list(value, depth)
    raise NotCanonical(f"{type(value).__name__} is not a JSON value")


def _check_object(value: dict[str, JSONValue], depth: int) -> int:
    found = 0
    key = ""
    try:
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotCanonical("an object key that is not text")
            if not key.isascii():
                found |= _check_text(key) | _HARD
            if type(item) is not str or not item.isascii():  # most are: not worth a call
                found |= _check(item, depth + 1)
    except NotCanonical as problem:
        problem.path.append(str(key))
        raise
    return found


def _check_list(value: list[JSONValue], depth: int) -> int:
    found = 0
    index = 0
    try:
        for index, item in enumerate(value):  # noqa: B007 - the handler names the place by it
            found |= _check(item, depth + 1)
    except NotCanonical as problem:
        problem.path.append(str(index))
        raise
    return found


def _check_text(value: str) -> int:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise NotCanonical("a lone surrogate") from error
    return 0


def _check_int(value: int) -> int:
    if not -(2**63) <= value < 2**64:
        raise NotCanonical("an integer beyond 64 bits")
    return 0


def _check_float(value: float) -> int:
    if not math.isfinite(value):
        raise NotCanonical(f"{value} is not a JSON number")
    if value.is_integer():
        return _WHOLE if abs(value) < _EXACT_INT else _HARD
    return 0 if 1e-3 <= abs(value) < 1e15 else _HARD


def _with_integers(value: JSONValue) -> JSONValue:
    """A checked value with its whole floats as integers."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: item if isinstance(item, str) else _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return value


def _slow(value: JSONValue) -> bytes:
    """Canonical bytes of any checked value, the 64-bit integers spliced in as they are."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return b"{" + b",".join(orjson.dumps(key) + b":" + _slow(value[key]) for key in keys) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(_slow(item) for item in value) + b"]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _EXACT_INT:
        return str(value).encode()
    if isinstance(value, float):
        return rfc8785.dumps(value)
    return orjson.dumps(value)
