"""Literals of Python, as its `str()` and `repr()` write values, as JSON."""

import ast
from typing import Final

import orjson

from traces.core.json_types import JSONValue
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
