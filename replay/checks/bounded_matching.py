"""Match texts against user-written patterns and JSON schemas in bounded time. Pure.

Patterns run on an engine without backtracking, and schemas fetch nothing. What can still take long (counted repetitions
on long texts, references that expand without end) runs in a separate process with a time limit.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import jsonschema_rs
import orjson

from traces.core.json_access import member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import pointer_tokens

# Runs `first_error` in a separate process with a time limit.
IsolatedMatcher = Callable[[JSONObject, JSONValue], str]
# Below this number of characters, no pattern of the permitted size takes half a second.
_LONG: Final = 5_000
# Parts of the schema times characters.
_MOST_WORK: Final = 50_000_000
_MOST_PARTS: Final = 1_000_000
_MOST_BYTES: Final = 500_000
_LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=1_000_000)
_IN_PLACE: Final = ("$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor")


class _CyclicReference(Exception):
    """The references of a schema are cyclic, or cannot be resolved here."""


def problem(document: JSONObject) -> str:
    """Why a schema cannot be used; empty if it can."""
    try:
        if len(orjson.dumps(document)) > _MOST_BYTES:
            return f"it is larger than {_MOST_BYTES // 1000} kB"
        if (parts := _count_parts(document)) is not None and parts > _MOST_PARTS:
            return f"its references unfold to more than {_MOST_PARTS:,} parts"
        _validator(document)
    # The library's ValidationError is a ValueError.
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
        return str(getattr(error, "message", error))
    return ""


def failure(document: JSONObject, value: JSONValue, size: int, matcher: IsolatedMatcher) -> str:
    """Where and why a value does not match; empty if it does. `size` is the length of the text it was read from."""
    parts = _count_parts(document)
    if size <= _LONG and parts is not None and parts * size <= _MOST_WORK:
        return first_error(document, value)
    return matcher(document, value)


def first_error(document: JSONObject, value: JSONValue) -> str:
    """Where and why a value does not match; empty if it does. Without a time limit."""
    try:
        first = next(_validator(document).iter_errors(value), None)
    # The value is nested too deeply.
    except ValueError as error:
        return f"it cannot be decided: {error}"
    if first is None:
        return ""
    pointer = "".join(f"/{part}" for part in first.instance_path)
    return f"{pointer or '/'}: {first.message}"


def _validator(document: JSONObject) -> Any:
    return jsonschema_rs.validator_for(document, pattern_options=_LINEAR, retriever=_fetch_nothing)


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"it refers to {uri}, and external references are not fetched")


def _count_parts(document: JSONObject) -> int | None:
    """The number of parts of a schema with all references expanded; None: infinite or unknown."""
    counts: dict[int, int] = {}

    def count(part: JSONValue) -> int:
        if not isinstance(part, dict | list):
            return 0
        if id(part) in counts:
            # 0: the part is still being counted, so a reference leads back to it.
            if not counts[id(part)]:
                raise _CyclicReference
            return counts[id(part)]
        counts[id(part)] = 0
        children = part.values() if isinstance(part, dict) else part
        total = 1 + sum(map(count, children)) + sum(map(count, _targets(document, part)))
        counts[id(part)] = total
        return total

    try:
        return count(document)
    except (_CyclicReference, RecursionError):
        return None


def _targets(document: JSONObject, part: JSONValue) -> list[JSONValue]:
    """The targets of a part's reference; raises `_CyclicReference` if only the library can resolve it."""
    if not isinstance(part, dict) or not any(name in part for name in ("$ref", *_IN_PLACE)):
        return []
    reference = part.get("$ref", "#")
    is_unusual = any(name in part and part is not document for name in _IN_PLACE)
    if is_unusual or not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise _CyclicReference
    if "$ref" not in part:
        return []
    target: JSONValue = document
    for name in pointer_tokens(reference):
        target = member(target, name)
    return [target]
