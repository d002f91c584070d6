"""Walks over JSON values of any shape. Pure."""

from collections.abc import Callable, Iterable, Iterator

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue

Scalar = str | int | float | bool | None


def entries(value: JSONValue) -> Iterable[tuple[str, JSONValue]]:
    """Return the members of an object, or the items of a list by index; nothing for other values."""
    if isinstance(value, dict):
        return value.items()
    return ((str(index), item) for index, item in enumerate(value)) if isinstance(value, list) else ()


def children(value: JSONValue) -> Iterable[JSONValue]:
    """Return the values of an object, or the items of a list; nothing for other values."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def pointer_tokens(pointer: str) -> list[str]:
    """Return the unescaped reference tokens of a JSON pointer (RFC 6901)."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def find(value: JSONValue, tokens: Iterable[str]) -> JSONValue:
    """Return the value at the tokens of a JSON pointer; None if they lead nowhere."""
    for token in tokens:
        if isinstance(value, dict):
            value = value.get(token)
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def scalars(value: JSONValue, path: str = "") -> Iterator[tuple[str, Scalar]]:
    """Yield every value that is no object or list with its JSON pointer, in the order of the canonical form."""
    if isinstance(value, dict):
        for key, item in sorted(value.items()):
            yield from scalars(item, f"{path}/{escape_pointer(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from scalars(item, f"{path}/{index}")
    else:
        yield path, value


def first_item(value: JSONValue) -> JSONValue:
    """Return the first item of a list, or of the lists it begins with: null if empty; any other value itself."""
    while isinstance(value, list):
        value = value[0] if value else None
    return value


def map_strings(value: JSONValue, change: Callable[[str], JSONValue]) -> JSONValue:
    """Return a copy of `value` in which `change` replaces every string, but for the keys of objects."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    return {key: map_strings(item, change) for key, item in value.items()} if isinstance(value, dict) else value
