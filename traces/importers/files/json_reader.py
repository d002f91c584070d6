"""JSON from untrusted files. Every error names its location."""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

import orjson

from traces.core import duplicate_keys
from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text, is_blank

P = ParamSpec("P")
T = TypeVar("T")
Reader = Callable[Concatenate[JSONValue, str, P], Iterator[T]]
# Leaves room for wrapper objects under the store's own limit.
MAX_DEPTH: Final = 100
_NINETEEN: Final = b"0" * 19
_DIGITS_ALIKE: Final = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_BEFORE_NUMBERS: Final = frozenset(b" \t\r\n:,[-")
_NOT_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
# Short values repeat: arguments of calls, settings, and texts of a few words.
_SHORT: Final = 1_000
_MOST_VALUES: Final = 2_000
_INT_RANGE: Final = range(-(2**63), 2**64)


def json_value(data: bytes) -> JSONValue:
    """Parse `data`. Raises `BadFile` for invalid JSON, duplicate keys, or exceeded limits."""
    value, data = _parse(data)
    # With so few brackets, nothing can be nested too deep.
    is_flat = data.count(b"{") + data.count(b"[") <= MAX_DEPTH
    keys = None if is_flat else _count_keys(value, 0)
    if _may_exceed_64_bits(data):
        _check_integers(data)
    if is_flat and duplicate_keys.are_unique(data, value):
        return value
    if (duplicate := duplicate_keys.find(data, value, keys)) is not None:
        raise BadFile(str(duplicate), duplicate.pointer or "/")
    return value


def parse_embedded(value: JSONValue) -> JSONValue:
    """Parse JSON inside a string, as tracers write objects into attributes; return other values unchanged."""
    if not isinstance(value, str) or not value.lstrip()[:1] or value.lstrip()[0] not in '{["':
        return value
    try:
        return json_value(value.encode())
    except (BadFile, UnicodeEncodeError):
        return value


def parse_shared(value: JSONValue) -> JSONValue:
    """Like `parse_embedded`, once for short texts that repeat. Do not modify the result: it is shared.

    A trace contains the arguments of a call in its answer, in each later request, in copies of both and in the call.
    """
    return _parse_short(value) if isinstance(value, str) and len(value) <= _SHORT else parse_embedded(value)


_parse_short: Final = lru_cache(_MOST_VALUES)(parse_embedded)


def require_object(value: JSONValue, location: str) -> JSONObject:
    if not isinstance(value, dict):
        raise BadFile(f"expected an object, got {kind(value)}", location)
    return value


def require_list(value: JSONValue, location: str) -> list[JSONValue]:
    if not isinstance(value, list):
        raise BadFile(f"expected a list, got {kind(value)}", location)
    return value


def item_by_item(read: Reader[P, T]) -> Reader[P, T]:
    """Let a reader of one value at a location read lists as well, also nested ones, and locate each item."""

    @wraps(read)
    def read_items(value: JSONValue, location: str, /, *args: P.args, **options: P.kwargs) -> Iterator[T]:
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from read_items(item, f"{location}/{index}", *args, **options)
        else:
            yield from read(value, location, *args, **options)

    return read_items


def kind(value: JSONValue) -> str:
    """Return the type of `value` in words, for error messages."""
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "null")


def _parse(data: bytes) -> tuple[JSONValue, bytes]:
    """Return the value, and its JSON text in UTF-8."""
    try:
        value: JSONValue = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if is_blank(data):
            raise BadFile("the file is empty", "byte 0") from error
        content = decode_text(data)
        return _parse_text(content, error), content.encode("utf-8", "surrogatepass")
    return value, data


def _parse_text(content: str, first_error: orjson.JSONDecodeError) -> JSONValue:
    """Parse decoded text after bytes failed. A syntax error fails again, with its line and column."""
    try:
        value: JSONValue = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadFile(_describe(content, error), f"line {error.lineno} column {error.colno}") from first_error
    return value


def _describe(content: str, error: orjson.JSONDecodeError) -> str:
    rest = content[error.pos : error.pos + 9]
    for name in _NOT_NUMBERS:
        if rest.startswith(name):
            return f"{name} is not a JSON number"
    return f"not JSON: {error.msg}"


def _count_keys(value: JSONValue, depth: int) -> int:
    """Count the keys of all objects in `value`. Raises `BadFile` for values nested too deep."""
    if depth > MAX_DEPTH:
        raise BadFile(f"nested deeper than {MAX_DEPTH} levels")
    keys = 0
    if isinstance(value, dict):
        keys = len(value)
        for key, item in value.items():
            if isinstance(item, dict | list):
                keys += _count_child_keys(item, depth, key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                keys += _count_child_keys(item, depth, str(index))
    return keys


def _count_child_keys(value: JSONValue, depth: int, key: str) -> int:
    try:
        return _count_keys(value, depth + 1)
    except BadFile as problem:
        # A pointer of a hundred levels is of no use, so only its first levels are shown.
        is_near_root = depth < 3
        raise BadFile(problem.problem, f"/{escape_pointer(key)}{problem.where}" if is_near_root else "/…") from problem


def _may_exceed_64_bits(data: bytes) -> bool:
    """Return whether 19 digits follow a character that may precede a number; false for fractions."""
    alike = data.translate(_DIGITS_ALIKE)
    start = alike.find(_NINETEEN)
    while start > 0 and data[start - 1] not in _BEFORE_NUMBERS:
        start = alike.find(_NINETEEN, start + len(_NINETEEN))
    return start >= 0


def _check_integers(data: bytes) -> None:
    """Refuse integers beyond 64 bits: orjson reads them as floats, which would change the recording."""
    too_big: list[str] = []

    def parse_int(digits: str) -> int:
        if len(digits) > 20 or int(digits) not in _INT_RANGE:
            too_big.append(digits)
        return 0

    try:
        json.loads(decode_text(data), parse_int=parse_int)
    except ValueError as error:
        raise BadFile(f"not JSON: {error}") from error
    if too_big:
        raise BadFile(f"the integer {too_big[0][:24]}… is beyond 64 bits", f"byte {data.find(too_big[0].encode())}")
