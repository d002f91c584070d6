"""Accessors for JSON of unknown shape: a value of another type counts as absent. Pure."""

import json
from collections.abc import Container
from typing import TypeGuard

from traces.core.json_types import JSONObject, JSONValue


def as_object(value: object) -> JSONObject:
    """Return `value` if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[JSONValue]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def as_objects(value: object) -> list[JSONObject]:
    """Return the objects of a list; an empty list if `value` is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def list_or_single(value: JSONValue) -> list[JSONValue]:
    """Return the items of a list, or any other value as the only item."""
    return value if isinstance(value, list) else [value]


def as_string(value: object) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def as_text(value: object) -> str:
    """Return a string, or a number or boolean in its JSON form, else an empty string."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


def text_or_json(value: JSONValue) -> str:
    """Return a string as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether `value` is a number; booleans are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether `value` is an integer; booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def as_integer(value: object) -> int | None:
    """Return `value` if it is an integer; booleans are none."""
    return value if is_integer(value) else None


def as_boolean(value: object) -> bool | None:
    """Return `value` if it is a boolean."""
    return value if isinstance(value, bool) else None


def as_number(value: object) -> int | float | None:
    """Return `value` if it is a number; booleans are none."""
    return value if is_number(value) else None


def member(value: object, *path: str) -> JSONValue:
    """Return the value at `path`, null if there is none: `member(answer, "usage", "input_tokens")`."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value  # type: ignore[return-value]


def first_member(source: JSONObject, *names: str) -> JSONValue:
    """Return the first of these members that is neither null nor empty."""
    for name in names:
        value = source.get(name)
        if value is not None and value != "":
            return value
    return None


def omit(source: JSONObject, *names: str) -> JSONObject:
    """Return `source` without the members of these names."""
    return {name: item for name, item in source.items() if name not in names}


def other_members(source: JSONObject, mapped_names: Container[str]) -> JSONObject:
    """Return the members of `source` that are neither in `mapped_names` nor empty."""
    return {name: item for name, item in source.items() if name not in mapped_names and item not in (None, "", [], {})}


def has_list(value: object, name: str) -> bool:
    """Return whether `value` is an object whose member `name` is a list."""
    return isinstance(value, dict) and isinstance(value.get(name), list)


def has_object(value: object, name: str) -> bool:
    """Return whether `value` is an object whose member `name` is an object."""
    return isinstance(value, dict) and isinstance(value.get(name), dict)


def has_string(value: object, name: str) -> bool:
    """Return whether `value` is an object whose member `name` is a string."""
    return isinstance(value, dict) and isinstance(value.get(name), str)
