"""Canonical JSON (RFC 8785) and digests.

Two values that are equal as JSON have the same canonical bytes, so their SHA-256 identifies the value.
One deviation, because recordings contain them: integers between 2^53 and 2^64 keep their exact digits.
"""

import hashlib
import math
from types import NoneType
from typing import Any, Final

import msgspec
import orjson
import rfc8785

from traces.core.json_types import JSONValue

MAX_DEPTH: Final = 200
_EXACT_INT: Final = 2**53
# Depth of `CanonicalList`s, which are not checked: references to parts are at most three levels deep.
_CANONICAL_LIST_DEPTH: Final = 8
_ORJSON: Final = orjson.OPT_SORT_KEYS
# Flags for values that orjson writes differently from RFC 8785:
# floats without a fraction, such as 1.0, which RFC 8785 writes as 1;
_WHOLE: Final = 1
# keys that are not ASCII, very large and very small floats.
_HARD: Final = 2


class CanonicalList(list[JSONValue]):
    """A list whose canonical form is what orjson writes, such as a list of references to parts."""


_CONSTANTS: Final = frozenset({NoneType, bool, CanonicalList})


class NotCanonical(ValueError):
    """A value without a canonical JSON form; `where` is the JSON pointer of the offending part."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str] = []

    @property
    def pointer(self) -> str:
        return "".join(f"/{escape_pointer(key)}" for key in reversed(self.path)) or "/"

    def __str__(self) -> str:
        return f"{self.problem} at {self.pointer}"


class CanonicalForm(msgspec.Struct, frozen=True):
    """The RFC 8785 bytes of a value. `has_types`: parsing them gives all of its numbers the same types again."""

    data: bytes
    has_types: bool


def canonical_bytes(value: JSONValue) -> bytes:
    """Return the RFC 8785 bytes of `value`; raise `NotCanonical`."""
    return canonical_form(value).data


def canonical_form(value: JSONValue) -> CanonicalForm:
    """Return the canonical form of `value`; raise `NotCanonical`."""
    if (data := _plain_form(value)) is not None:
        return CanonicalForm(data, True)
    flags = _check(value, 0)
    if flags & _HARD:
        return CanonicalForm(_canonicalize(value), False)
    return CanonicalForm(orjson.dumps(_with_integers(value) if flags else value, option=_ORJSON), not flags)


def is_plain_value(value: Any) -> bool:
    """Return whether orjson writes a value that is neither text nor a container in canonical form, with its type."""
    kind = type(value)
    is_plain: bool = kind in _CONSTANTS
    if kind is int:
        is_plain = -_EXACT_INT < value < _EXACT_INT
    elif kind is float:
        is_plain = 1e-3 <= value < 1e15 and not value.is_integer()
    return is_plain


def plain_form(value: JSONValue, keys: list[str]) -> bytes | None:
    """Return the canonical form of a value of few containers, texts and plain values, with these keys.

    None only means to look closer.
    """
    try:
        return orjson.dumps(value, option=_ORJSON) if "".join(keys).isascii() else None
    except TypeError:  # a key that is not text, or a lone surrogate
        return None


def digest_bytes(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: JSONValue) -> str:
    """Return the SHA-256 (hex) of the canonical form of `value`."""
    return digest_bytes(canonical_bytes(value))


def escape_pointer(key: str) -> str:
    """Escape a key as a reference token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _plain_form(value: JSONValue) -> bytes | None:
    """Return what orjson writes if that is canonical: ASCII keys, small numbers, few containers.

    None only means that `_check` must decide. Three times as fast as `_check`, and sufficient for most values.
    """
    pending: list[Any] = [value]
    keys: list[str] = []
    containers = 0
    # The list grows during the iteration.
    for item in pending:
        kind = type(item)
        if kind is str:
            continue
        if kind is dict:
            containers += 1
            keys += item
            pending += item.values()
        elif kind is list:
            containers += 1
            pending += item
        elif not is_plain_value(item):
            return None
    # So few containers cannot be nested too deep.
    return plain_form(value, keys) if containers < MAX_DEPTH - _CANONICAL_LIST_DEPTH else None


def _check(value: JSONValue, depth: int) -> int:
    """Reject what is not JSON. Return 0 if orjson's sorted output is the canonical form, else flags.

    orjson sorts keys by code point and RFC 8785 by UTF-16 unit, which agree on ASCII; it also writes
    some numbers with a different exponent from ECMAScript.
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
    flags = 0
    key = ""
    try:
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotCanonical("an object key that is not text")
            if not key.isascii():
                flags |= _check_text(key) | _HARD
            # Most values are ASCII text: skip the call.
            if type(item) is not str or not item.isascii():
                flags |= _check(item, depth + 1)
    except NotCanonical as problem:
        problem.path.append(str(key))
        raise
    return flags


def _check_list(value: list[JSONValue], depth: int) -> int:
    flags = 0
    index = 0
    try:
        for index, item in enumerate(value):  # noqa: B007 - the handler adds it to the path
            flags |= _check(item, depth + 1)
    except NotCanonical as problem:
        problem.path.append(str(index))
        raise
    return flags


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
    """Return a checked value with its whole floats as integers."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: item if isinstance(item, str) else _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return value


def _canonicalize(value: JSONValue) -> bytes:
    """Return the canonical bytes of any checked value, with exact 64-bit integers."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return b"{" + b",".join(orjson.dumps(key) + b":" + _canonicalize(value[key]) for key in keys) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(_canonicalize(item) for item in value) + b"]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _EXACT_INT:
        return str(value).encode()
    if isinstance(value, float):
        return rfc8785.dumps(value)
    return orjson.dumps(value)
