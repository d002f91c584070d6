"""Canonical JSON (RFC 8785) and digests.

Two values that are equal as JSON have the same canonical bytes, so a SHA-256 over them names the value.
One deviation, because recordings carry them: integers between 2^53 and 2^64 keep their exact digits.
"""

import hashlib
import math
from typing import Final

import orjson
import rfc8785

from traces.json_types import JSONValue

MAX_DEPTH: Final = 200
_EXACT_INT: Final = 2**53
_ORJSON: Final = orjson.OPT_SORT_KEYS


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
    return orjson.dumps(value, option=_ORJSON) if _check(value, 0) else _slow(value)


def digest_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: JSONValue) -> str:
    """SHA-256 (hex) of the canonical form of `value`."""
    return digest_bytes(canonical_bytes(value))


def escape_pointer(key: str) -> str:
    """One reference token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _check(value: JSONValue, depth: int) -> bool:
    """Refuse what is not JSON; true when orjson's sorted output already is the canonical form.

    orjson sorts keys by code point and RFC 8785 by UTF-16 unit, which agree on ASCII; it also writes
    some numbers with another exponent than ECMAScript does.
    """
    if isinstance(value, str):
        return _check_text(value)
    if value is None or isinstance(value, bool):
        return True
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


def _check_object(value: dict[str, JSONValue], depth: int) -> bool:
    plain = True
    key = ""
    try:
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotCanonical("an object key that is not text")
            plain &= _check_text(key) and key.isascii()
            plain &= _check(item, depth + 1)
    except NotCanonical as problem:
        problem.path.append(str(key))
        raise
    return plain


def _check_list(value: list[JSONValue], depth: int) -> bool:
    plain = True
    index = 0
    try:
        for index, item in enumerate(value):  # noqa: B007 - the handler names the place by it
            plain &= _check(item, depth + 1)
    except NotCanonical as problem:
        problem.path.append(str(index))
        raise
    return plain


def _check_text(value: str) -> bool:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise NotCanonical("a lone surrogate") from error
    return True


def _check_int(value: int) -> bool:
    if not -(2**63) <= value < 2**64:
        raise NotCanonical("an integer beyond 64 bits")
    return True


def _check_float(value: float) -> bool:
    if not math.isfinite(value):
        raise NotCanonical(f"{value} is not a JSON number")
    return 1e-3 <= abs(value) < 1e15 and not value.is_integer()


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
