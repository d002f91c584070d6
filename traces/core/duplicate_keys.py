"""Duplicate keys in JSON objects: parsers silently drop all but the last.

Inspecting every object during parsing takes five times as long as parsing. Instead, the keys in the text are counted,
which is cheap, and compared with the keys of the value. Only if the counts differ is the text inspected.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import orjson

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue
from traces.core.json_walk import entries

_SPACED_COLON: Final = re.compile(rb'"[ \t\r\n]+:')
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.S)


@dataclass(frozen=True, kw_only=True, slots=True)
class DuplicateKey:
    """A key that occurs twice, and the JSON pointer of its object."""

    key: str
    pointer: str

    def __str__(self) -> str:
        return f"the key “{self.key[:80]}” occurs twice in one object"


def loads(data: bytes) -> JSONValue:
    """Parse JSON; raise `ValueError` for anything else, and for a duplicate key."""
    value: JSONValue = orjson.loads(data)
    if (duplicate := find(data, value)) is not None:
        raise ValueError(f"{duplicate}, at {duplicate.pointer or '/'}")
    return value


def find(data: bytes, value: JSONValue, keys: int | None = None) -> DuplicateKey | None:
    """Return the first duplicate key in `data`; `value` is its parsed form and `keys` the number of keys in it."""
    if keys is None:
        if are_unique(data, value):
            return None
        keys = count(value)
    if _max_count(data) == keys or _exact_count(data) == keys:
        return None
    try:
        return _locate(data)
    except RecursionError:  # too deep for a readable pointer
        return DuplicateKey(key="…", pointer="")


def are_unique(data: bytes, value: JSONValue) -> bool:
    """Quick check that no key in `data` is duplicate; false only means to look closer.

    Written again, the value has as many keys as its text. Both bounds also count the texts that begin with a colon.
    """
    try:
        compact_text = orjson.dumps(value)
    except orjson.JSONEncodeError:  # nested deeper than it writes, but not than it reads
        return False
    if compact_text == data:
        return True
    keys = _max_count(data)
    # An escaped colon would be counted only when it is written again.
    return keys >= 0 and b"\\u00" not in data and keys == _max_count(compact_text)


def count(value: JSONValue) -> int:
    """Count the keys of all objects in `value`."""
    total = 0
    pending: list[Any] = [value]
    # The list grows during the iteration.
    for item in pending:
        kind = type(item)
        if kind is dict:
            total += len(item)
            pending += item.values()
        elif kind is list:
            pending += item
    return total


def _max_count(data: bytes) -> int:
    """Return an upper bound of the keys in `data`, or -1 if none is available quickly.

    A quote and a colon end a key, or begin a text like ":)", or are inside a text, where the quote is escaped. Only
    after two backslashes is it unclear which of the two is escaped.
    """
    if b'\\\\":' in data or (_has_space_before_colon(data) and _SPACED_COLON.search(data)):
        return -1
    return data.count(b'":') - data.count(b'\\":')


def _has_space_before_colon(data: bytes) -> bool:
    """Quick check: most texts have none."""
    return b" :" in data or b"\n:" in data or b"\t:" in data or b"\r:" in data


def _exact_count(data: bytes) -> int:
    """Count the colons outside of texts: each follows a key."""
    return _STRING.sub(b"", data).count(b":")


def _locate(data: bytes) -> DuplicateKey | None:
    duplicates: list[tuple[str, dict[str, Any]]] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) < len(items) and not duplicates:
            names = [key for key, _ in items]
            duplicates.append((next(key for key in names if names.count(key) > 1), result))
        return result

    whole = json.loads(data, object_pairs_hook=pairs)
    if not duplicates:
        return None
    key, owner = duplicates[0]
    return DuplicateKey(key=key, pointer=_pointer_to(owner, whole, "") or "")


def _pointer_to(target: object, value: JSONValue, prefix: str) -> str | None:
    if value is target:
        return prefix
    for key, item in entries(value):
        pointer = _pointer_to(target, item, f"{prefix}/{escape_pointer(key)}")
        if pointer is not None:
            return pointer
    return None
