"""JSON from hostile files: every refusal names the place."""

import json
from typing import Final

import orjson

from traces.core import duplicate_keys
from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text

MAX_DEPTH: Final = 100  # of a file; leaves room under the store's own limit for what wraps a value
_NINETEEN: Final = b"0" * 19
_DIGITS_ALIKE: Final = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_BEFORE_NUMBERS: Final = frozenset(b" \t\r\n:,[-")
_NOT_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
_INT_RANGE: Final = range(-(2**63), 2**64)


def json_value(data: bytes) -> JSONValue:
    """The JSON value in `data`; raises `BadFile` for what is not JSON or beyond the limits."""
    if not data.strip():
        raise BadFile("the file is empty", "byte 0")
    value, data = _loads(data)
    keys = _keys_within_depth(value, 0)
    if _may_be_beyond_64_bits(data):
        _check_integers(data)
    if (twice := duplicate_keys.find(data, value, keys)) is not None:
        raise BadFile(str(twice), twice.where or "/")
    return value


def parse_embedded(value: JSONValue) -> JSONValue:
    """JSON inside a text, as instrumentations write objects into attributes; other texts as they are."""
    if not isinstance(value, str) or not value.lstrip()[:1] or value.lstrip()[0] not in '{["':
        return value
    try:
        return json_value(value.encode())
    except (BadFile, UnicodeEncodeError):
        return value


def obj(value: JSONValue) -> JSONObject:
    """`value` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: JSONValue) -> list[JSONValue]:
    """`value` when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: JSONValue) -> str:
    """`value` as a text: a number or boolean as JSON writes it, nothing for the rest."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


def first(source: JSONObject, *names: str) -> JSONValue:
    """The first field of that name that says something."""
    for name in names:
        value = source.get(name)
        if value is not None and value != "":
            return value
    return None


def require_object(value: JSONValue, where: str) -> JSONObject:
    if not isinstance(value, dict):
        raise BadFile(f"an object was expected, not {kind(value)}", where)
    return value


def require_list(value: JSONValue, where: str) -> list[JSONValue]:
    if not isinstance(value, list):
        raise BadFile(f"a list was expected, not {kind(value)}", where)
    return value


def kind(value: JSONValue) -> str:
    """What a person calls the type of `value`."""
    names = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "null")


def _loads(data: bytes) -> tuple[JSONValue, bytes]:
    """The value, and its text in UTF-8."""
    try:
        value: JSONValue = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        given = decode_text(data)
        return _loads_text(given, error), given.encode("utf-8", "surrogatepass")
    return value, data


def _loads_text(given: str, first_error: orjson.JSONDecodeError) -> JSONValue:
    """Another try for wrong encodings; a real syntax error fails again, at a place in the text."""
    try:
        value: JSONValue = orjson.loads(given)
    except orjson.JSONDecodeError as error:
        raise BadFile(_described(given, error), f"line {error.lineno} column {error.colno}") from first_error
    return value


def _described(given: str, error: orjson.JSONDecodeError) -> str:
    rest = given[error.pos : error.pos + 9]
    for name in _NOT_NUMBERS:
        if rest.startswith(name):
            return f"{name} is not a JSON number"
    return f"not JSON: {error.msg}"


def _keys_within_depth(value: JSONValue, depth: int) -> int:
    """How many keys all objects in `value` have; raises `BadFile` for what lies too deep."""
    if depth > MAX_DEPTH:
        raise BadFile(f"nested deeper than {MAX_DEPTH} levels")
    keys = 0
    if isinstance(value, dict):
        keys = len(value)
        for key, item in value.items():
            if isinstance(item, dict | list):
                keys += _keys_inside(item, depth, key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                keys += _keys_inside(item, depth, str(index))
    return keys


def _keys_inside(value: JSONValue, depth: int, key: str) -> int:
    try:
        return _keys_within_depth(value, depth + 1)
    except BadFile as problem:
        # the pointer to a place a hundred levels down helps nobody: its start is enough
        keep = depth < 3
        raise BadFile(problem.problem, f"/{escape_pointer(key)}{problem.where}" if keep else "/…") from problem


def _may_be_beyond_64_bits(data: bytes) -> bool:
    """Whether many digits stand where a number may: not in a fraction, and in few texts."""
    alike = data.translate(_DIGITS_ALIKE)
    start = alike.find(_NINETEEN)
    while start > 0 and data[start - 1] not in _BEFORE_NUMBERS:
        start = alike.find(_NINETEEN, start + len(_NINETEEN))
    return start >= 0


def _check_integers(data: bytes) -> None:
    """orjson reads integers beyond 64 bits as floats, which would change the recording."""
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
