"""Texts against patterns and JSON schemas that somebody wrote, in bounded time. Pure.

Patterns run on an engine without backtracking, and schemas fetch nothing. What can still take long (counted
repetitions on long texts, references that unfold without end) is decided apart: in a process that is ended in time.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import jsonschema_rs
import orjson

from traces.core.json_types import JSONObject, JSONValue

Apart = Callable[[JSONObject, JSONValue], str]  # `first_error` in a process of its own
_LONG: Final = 5_000  # characters: below, no pattern of the permitted size takes half a second
_MOST_WORK: Final = 50_000_000  # parts of the schema times characters
_MOST_PARTS: Final = 1_000_000
_MOST_BYTES: Final = 500_000
_LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=1_000_000)
_IN_PLACE: Final = ("$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor")


class _Endless(Exception):
    """The references of a schema lead back to it, or cannot be followed here."""


def problem(document: JSONObject) -> str:
    """What is wrong with a schema itself; empty when it can be applied."""
    try:
        if len(orjson.dumps(document)) > _MOST_BYTES:
            return f"it is larger than {_MOST_BYTES // 1000} kB"
        if (parts := _unfolded(document)) is not None and parts > _MOST_PARTS:
            return f"its references unfold to more than {_MOST_PARTS:,} parts"
        _validator(document)
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:  # its ValidationError is a ValueError
        return str(getattr(error, "message", error))
    return ""


def failure(document: JSONObject, value: JSONValue, size: int, apart: Apart) -> str:
    """Where and why a value does not fit; `size` is that of the text it was read from."""
    parts = _unfolded(document)
    if size <= _LONG and parts is not None and parts * size <= _MOST_WORK:
        return first_error(document, value)
    return apart(document, value)


def first_error(document: JSONObject, value: JSONValue) -> str:
    """Where and why a value does not fit, however long that takes."""
    try:
        first = next(_validator(document).iter_errors(value), None)
    except ValueError as error:  # a value that is nested too deeply
        return f"it cannot be decided: {error}"
    if first is None:
        return ""
    where = "".join(f"/{part}" for part in first.instance_path)
    return f"{where or '/'}: {first.message}"


def _validator(document: JSONObject) -> Any:
    return jsonschema_rs.validator_for(document, pattern_options=_LINEAR, retriever=_fetch_nothing)


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"it refers to {uri}, and nothing is fetched")


def _unfolded(document: JSONObject) -> int | None:
    """How many parts a schema has when each of its references is written out; None: without end."""
    known: dict[int, int] = {}

    def count(part: JSONValue) -> int:
        if not isinstance(part, dict | list):
            return 0
        if id(part) in known:
            if not known[id(part)]:
                raise _Endless  # it is being counted: a reference leads back
            return known[id(part)]
        known[id(part)] = 0
        inside = part.values() if isinstance(part, dict) else part
        found = 1 + sum(map(count, inside)) + sum(map(count, _referred(document, part)))
        known[id(part)] = found
        return found

    try:
        return count(document)
    except (_Endless, RecursionError):
        return None


def _referred(document: JSONObject, part: JSONValue) -> list[JSONValue]:
    """What a part refers to; raises `_Endless` where only the library knows."""
    if not isinstance(part, dict) or not any(name in part for name in ("$ref", *_IN_PLACE)):
        return []
    reference = part.get("$ref", "#")
    odd = any(name in part and part is not document for name in _IN_PLACE)
    if odd or not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise _Endless
    if "$ref" not in part:
        return []
    at: JSONValue = document
    for token in reference.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        at = at.get(name) if isinstance(at, dict) else None
    return [at]
