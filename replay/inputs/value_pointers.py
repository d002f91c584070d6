"""JSON pointers into recorded values, also into JSON inside a text: ``/message/content#/queue``. Pure."""

from collections.abc import Callable

from traces.core.json_types import JSONValue
from traces.core.json_walk import pointer_tokens
from traces.provenance.short_values import json_in


def resolve_pointer(value: JSONValue, path: str) -> JSONValue:
    """Value at a pointer; raises `LookupError`."""
    outer, mark, inner = path.partition("#")
    if not mark:
        return _plain_value_at(value, path)
    try:
        # A key may contain the mark.
        return _plain_value_at(value, path)
    except LookupError:
        text = _plain_value_at(value, outer)
    document = json_in(text) if isinstance(text, str) else None
    if document is None:
        raise LookupError(path)
    return _plain_value_at(document[0], inner)


def _plain_value_at(value: JSONValue, path: str) -> JSONValue:
    for token in pointer_tokens(path):
        if isinstance(value, list) and token.isdecimal():
            value = value[int(token)]
        elif isinstance(value, dict):
            value = value[token]
        else:
            raise LookupError(path)
    return value


def replace_at(value: JSONValue, path: str, replace: Callable[[JSONValue], JSONValue]) -> JSONValue:
    """Copy of `value` with `replace` applied at a JSON pointer; unchanged if the pointer leads nowhere."""
    tokens = pointer_tokens(path)
    if not tokens:
        return replace(value)
    head, rest = tokens[0], path[len(path.split("/", 2)[1]) + 1 :]
    if isinstance(value, dict) and head in value:
        return {**value, head: replace_at(value[head], rest, replace)}
    if isinstance(value, list) and head.isdecimal() and int(head) < len(value):
        at = int(head)
        return [*value[:at], replace_at(value[at], rest, replace), *value[at + 1 :]]
    return value


def has_place(value: JSONValue, path: str) -> bool:
    """True if a pointer leads to a place in a value."""
    try:
        resolve_pointer(value, path)
    except LookupError:
        return False
    return True
