"""Problems of a JSON document, with a JSON pointer into the document as sent. Pure."""

import re
from collections.abc import Iterable
from typing import Any, Final

import pydantic

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue

_SHOULD_BE: Final = "Input should be "
# Pydantic's prefix of messages from our own validators.
_OWN_ERROR: Final = "Value error, "
# A member of an enum, as Pydantic shows it.
_ENUM_MEMBER: Final = re.compile(r"<\w+\.\w+: ('[^']*')>")
# Errors about a missing or unexpected key.
_ABOUT_KEYS: Final = frozenset({"missing", "extra_forbidden"})
# What a JSON parser makes of objects and lists.
_NESTING: Final = frozenset({dict, list})


def first_problem(error: pydantic.ValidationError, document: object) -> tuple[str, str]:
    """Return the message of the first problem, and its JSON pointer into the document."""
    by_pointer: dict[str, list[str]] = {}
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        messages = by_pointer.setdefault(_pointer(problem, document), [])
        if (message := _ENUM_MEMBER.sub(r"\1", problem["msg"]).removeprefix(_OWN_ERROR)) not in messages:
            messages.append(message)
    pointer, messages = next(iter(by_pointer.items()))
    more = f" (and {len(by_pointer) - 1} more)" if len(by_pointer) > 1 else ""
    return _join(messages) + more, pointer


def find_deep_part(value: JSONValue, limit: int) -> str | None:
    """Return the JSON pointer of the first part nested more than `limit` levels deep, or None."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [part for item in level for part in _values(item) if type(part) in _NESTING]
        if not level:
            return None
    return _path_of_depth(value, limit)


def _join(messages: list[str]) -> str:
    """Join the messages about one place; if several shapes are possible, list what each expects."""
    if len(messages) > 1 and all(message.startswith(_SHOULD_BE) for message in messages):
        return _SHOULD_BE + ", or ".join(message.removeprefix(_SHOULD_BE) for message in messages)
    return "; or: ".join(messages)


def _pointer(problem: Any, document: object) -> str:
    """Return a problem's JSON pointer.

    Names of union members are dropped, because they are not part of the document; without a document they stay.
    """
    if document is None:
        return "".join(f"/{escape_pointer(str(part))}" for part in problem["loc"])
    value: Any = document
    tokens: list[int | str] = []
    *parents, last = problem["loc"] or [None]
    for part in parents:
        if _has(value, part):
            tokens.append(part)
            value = value[part]
    if last is not None and (problem["type"] in _ABOUT_KEYS or _has(value, last)):
        tokens.append(last)
    return "".join(f"/{escape_pointer(str(token))}" for token in tokens)


def _has(value: object, part: int | str) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value)


def _values(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _parts(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else dict(enumerate(value))


def _path_of_depth(value: JSONValue, limit: int) -> str | None:
    """Search depth first, with an explicit stack."""
    stack = [(iter(_parts(value).items()), "")]
    while stack:
        child = next(((key, part) for key, part in stack[-1][0] if isinstance(part, dict | list)), None)
        if child is None:
            stack.pop()
            continue
        pointer = f"{stack[-1][1]}/{escape_pointer(str(child[0]))}"
        if len(stack) == limit:
            return pointer
        stack.append((iter(_parts(child[1]).items()), pointer))
    return None
