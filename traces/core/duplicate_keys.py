"""Keys that occur twice in one JSON object: parsers keep the last of them and lose the rest without a word.

To look at every object as it is parsed takes five times as long as parsing. So the keys in the text are counted, which
costs little, and compared with the keys of the value: only where these differ is the text looked at closely.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import orjson

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue

_SPACED: Final = re.compile(rb'"[ \t\r\n]+:')
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.S)


@dataclass(frozen=True, kw_only=True, slots=True)
class DuplicateKey:
    """A key that occurs twice, and the pointer to its object."""

    key: str
    where: str

    def __str__(self) -> str:
        return f"the key {self.key[:80]!r} occurs twice in one object"


def loads(data: bytes) -> JSONValue:
    """A JSON value; raises `ValueError` for what is not JSON, and for a key that occurs twice."""
    value: JSONValue = orjson.loads(data)
    if (twice := find(data, value)) is not None:
        raise ValueError(f"{twice}, at {twice.where or '/'}")
    return value


def find(data: bytes, value: JSONValue, keys: int | None = None) -> DuplicateKey | None:
    """The first key that `data` has twice in one object; `value` is what was parsed of it, `keys` how many it has."""
    keys = count(value) if keys is None else keys
    if _at_most(data) == keys or _exactly(data) == keys:
        return None
    try:
        return _located(data)
    except RecursionError:  # nested so deep that nobody wants to read the place
        return DuplicateKey(key="…", where="")


def count(value: JSONValue) -> int:
    """The keys of all objects in `value`."""
    total = 0
    left: list[JSONValue] = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            total += len(item)
            left += [each for each in item.values() if isinstance(each, dict | list)]
        elif isinstance(item, list):
            left += [each for each in item if isinstance(each, dict | list)]
    return total


def _at_most(data: bytes) -> int:
    """No fewer keys than `data` has, or -1 where that cannot be told quickly.

    A quote and a colon end a key, or begin a text like ":)", or are in a text, where the quote is escaped. Only after
    two backslashes is it unclear which of the two is escaped.
    """
    if b'\\\\":' in data or _SPACED.search(data):
        return -1
    return data.count(b'":') - data.count(b'\\":')


def _exactly(data: bytes) -> int:
    """Outside of texts, each colon follows a key."""
    return _STRING.sub(b"", data).count(b":")


def _located(data: bytes) -> DuplicateKey | None:
    found: list[tuple[str, dict[str, Any]]] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items) and not found:
            names = [key for key, _ in items]
            found.append((next(key for key in names if names.count(key) > 1), made))
        return made

    whole = json.loads(data, object_pairs_hook=pairs)
    if not found:
        return None
    key, owner = found[0]
    return DuplicateKey(key=key, where=_pointer_to(owner, whole, "") or "")


def _pointer_to(wanted: object, value: JSONValue, where: str) -> str | None:
    if value is wanted:
        return where
    named = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, item in named:
        if isinstance(item, dict | list):
            pointer = _pointer_to(wanted, item, f"{where}/{escape_pointer(str(key))}")
            if pointer is not None:
                return pointer
    return None
