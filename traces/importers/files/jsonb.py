"""JSONB, the binary form of JSON in SQLite 3.45 and later, which the library that runs here may lack.

An element begins with a byte of its type and its size; larger sizes follow in 1 to 8 bytes. Containers contain others.
"""

from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value

_MOST_LEVELS: Final = 100
# Sizes of at most 11 bytes are in the first byte.
_SIZE_BYTES: Final = {12: 1, 13: 2, 14: 4, 15: 8}
_CONSTANTS: Final[dict[int, JSONValue]] = {0: None, 1: True, 2: False}
_NUMBERS: Final = frozenset({3, 5})
_PLAIN_TEXTS: Final = frozenset({7, 10})
_ESCAPED_TEXT: Final = 8
_ARRAY: Final = 11
_OBJECT: Final = 12


def decode(data: bytes) -> JSONValue:
    """Return the value. Raises `BadFile` for damaged data and for forms that only JSON5 has."""
    value, end = _element(data, 0, len(data), 0)
    if end != len(data):
        raise BadFile("damaged JSONB: it does not end with its value", f"byte {end}")
    return value


def _element(data: bytes, start: int, limit: int, level: int) -> tuple[JSONValue, int]:
    """Return the element that begins at `start`, and its end."""
    if start >= limit or level > _MOST_LEVELS:
        raise BadFile("damaged JSONB: an element is missing or too deep", f"byte {start}")
    kind, size = data[start] & 0x0F, data[start] >> 4
    count = _SIZE_BYTES.get(size, 0)
    begin = start + 1 + count
    end = begin + (int.from_bytes(data[start + 1 : begin], "big") if count else size)
    if end > limit:
        raise BadFile("damaged JSONB: an element is longer than its container", f"byte {start}")
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], end
    if kind == _ARRAY:
        return _items(data, begin, end, level), end
    if kind == _OBJECT:
        items = _items(data, begin, end, level)
        members: JSONObject = {str(name): item for name, item in zip(items[::2], items[1::2], strict=False)}
        return members, end
    return _scalar(kind, data[begin:end], start), end


def _items(data: bytes, begin: int, end: int, level: int) -> list[JSONValue]:
    items: list[JSONValue] = []
    while begin < end:
        item, begin = _element(data, begin, end, level + 1)
        items.append(item)
    return items


def _scalar(kind: int, content: bytes, start: int) -> JSONValue:
    if kind in _NUMBERS:
        return json_value(content)
    if kind == _ESCAPED_TEXT:
        return json_value(b'"%b"' % content)
    if kind in _PLAIN_TEXTS:
        return content.decode("utf-8", "replace")
    raise BadFile(f"an element of JSONB of the type {kind} is not read", f"byte {start}")
