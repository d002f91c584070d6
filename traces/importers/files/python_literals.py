"""Literals of Python, as its `str()` and `repr()` write values, as JSON."""

import ast
from typing import Final

import orjson

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_LONGEST: Final = 200_000


def parse_literal(value: JSONValue) -> JSONValue:
    """Parse the text of an object or list, of JSON or Python; return other values unchanged."""
    content = parse_embedded(value)
    if not isinstance(content, str) or len(content) > _LONGEST or content[:1] not in {"{", "["}:
        return content
    try:
        literal: JSONValue = orjson.loads(orjson.dumps(ast.literal_eval(content)))
    # The text of a deeply nested or damaged value, or of one that JSON cannot represent.
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value
    return literal


def parse_object(content: str) -> JSONObject | None:
    """Parse the `repr()` of an object such as `Call(name='find')` to its fields; None for any other text."""
    if len(content) > _LONGEST or not content.endswith(")"):
        return None
    try:
        expression = ast.parse(content, mode="eval").body
        fields = orjson.loads(orjson.dumps(_plain(expression)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return fields if isinstance(expression, ast.Call) else None


def _plain(node: ast.expr) -> object:
    """Return the value of an expression, of an object as its named fields. Raises `ValueError` for any other call."""
    match node:
        case ast.Call(args=[], keywords=keywords):
            return {keyword.arg: _plain(keyword.value) for keyword in keywords if keyword.arg}
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_plain(item) for item in items]
        case _:
            return ast.literal_eval(node)
