"""Literals of Python, as its `str()` and `repr()` write values, as JSON."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import orjson

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_LONGEST: Final = 200_000
# An array of numpy has no commas. A text in it has no line break as such.
_ROWS: Final = re.compile(r"\}[^\S\n]*\n\s*\{")
# A member of an enumeration, such as `<Role.USER: 'user'>`, which is no Python.
_MEMBER: Final = re.compile(r"<[A-Z]\w{0,50}\.[A-Z_]{1,50}: ('[\w-]{1,50}')>")
_CALL_NAME: Final = re.compile(r"[\w .:/-]+")
_MARKS: Final = re.compile(r"\\.|[\[\](){},'\"]", re.S)
_QUOTES: Final = frozenset("'\"")
_OPENING: Final = frozenset("[({")
_CLOSING: Final = frozenset("])}")


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
        expression = ast.parse(_MEMBER.sub(r"\1", content), mode="eval").body
        fields = orjson.loads(orjson.dumps(_plain(expression)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return fields if isinstance(expression, ast.Call) else None


def parse_cell(value: JSONValue) -> JSONValue:
    """Parse what a data frame writes to CSV of an object or a list, also of arrays; return other values unchanged."""
    content = parse_literal(value)
    if not isinstance(content, str) or len(content) > _LONGEST or content[:1] not in {"{", "["}:
        return content
    try:
        cell: JSONValue = orjson.loads(orjson.dumps(_plain(ast.parse(_ROWS.sub("}, {", content), mode="eval").body)))
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError):
        return value
    return cell


def parse_calls(content: str) -> list[tuple[str, JSONObject]]:
    """Parse calls such as `[Find Book(title="Dune"), count()]`; names may have spaces. Empty for any other text."""
    text = content.strip()
    if len(text) > _LONGEST or not (text.startswith("[") and text.endswith(")]")):
        return []
    calls = [_parse_call(part) for part in _split(text[1:-1])]
    return [call for call in calls if call is not None] if None not in calls else []


def _split(text: str) -> Iterator[str]:
    """Yield the parts between commas that are outside of brackets and texts."""
    depth, quote, start = 0, "", 0
    for match in _MARKS.finditer(text):
        mark = match[0]
        if quote:
            quote = "" if mark == quote else quote
        elif mark in _QUOTES:
            quote = mark
        elif mark in _OPENING:
            depth += 1
        elif mark in _CLOSING:
            depth -= 1
        elif mark == "," and not depth:
            yield text[start : match.start()]
            start = match.end()
    yield text[start:]


def _parse_call(text: str) -> tuple[str, JSONObject] | None:
    name, parenthesis, arguments = text.strip().partition("(")
    if not parenthesis or not _CALL_NAME.fullmatch(name.strip()):
        return None
    # Python allows no spaces in a name.
    fields = parse_object(f"call({arguments}")
    return None if fields is None else (name.strip(), fields)


def _plain(node: ast.expr) -> object:
    """Return the value of an expression, of an object as its named fields. Raises `ValueError` for any other call."""
    match node:
        case ast.Call(func=ast.Name(id="array"), args=[items, *_]):
            return _plain(items)
        case ast.Call(func=ast.Attribute(attr="datetime"), args=parts):
            return datetime(*map(ast.literal_eval, parts), tzinfo=UTC)  # type: ignore[misc]
        case ast.Name(id="nan"):
            return None
        case ast.Dict(keys=keys, values=values):
            return {ast.literal_eval(key): _plain(value) for key, value in zip(keys, values, strict=True) if key}
        case ast.Call(func=ast.Name(id=name), args=[message], keywords=[]) if name.endswith("Error"):
            return {"type": name, "message": _plain(message)}
        case ast.Call(args=[], keywords=keywords):
            return {keyword.arg: _plain(keyword.value) for keyword in keywords if keyword.arg}
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_plain(item) for item in items]
        case _:
            return ast.literal_eval(node)
