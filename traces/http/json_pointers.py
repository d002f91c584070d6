"""What is wrong with a JSON document that somebody sent, and where: a pointer into what they wrote. Pure."""

from typing import Any, Final

import pydantic

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue

_SHOULD_BE: Final = "Input should be "
_OF_OUR_OWN: Final = "Value error, "
# Errors about a key that is not there, or should not be.
_ABOUT_KEYS: Final = frozenset({"missing", "extra_forbidden"})


def first_problem(error: pydantic.ValidationError, document: object) -> tuple[str, str]:
    """The first place at which something is wrong: what, in words, and its JSON pointer into the document."""
    found: dict[str, list[str]] = {}
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        known = found.setdefault(_place(problem, document), [])
        if (message := problem["msg"].removeprefix(_OF_OUR_OWN)) not in known:
            known.append(message)
    where, messages = next(iter(found.items()))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return _joined(messages) + more, where


def too_deep(value: JSONValue, limit: int) -> str | None:
    """The JSON pointer of the first part that lies more than `limit` levels deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [part for each in level for part in _parts(each).values() if isinstance(part, dict | list)]
        if not level:
            return None
    return _path_of_depth(value, limit)


def _joined(messages: list[str]) -> str:
    """What is said of one place; where several shapes are possible, what each of them wants."""
    if len(messages) > 1 and all(message.startswith(_SHOULD_BE) for message in messages):
        return _SHOULD_BE + ", or ".join(message.removeprefix(_SHOULD_BE) for message in messages)
    return "; or: ".join(messages)


def _place(problem: Any, document: object) -> str:
    """Without the names of union members, which are no part of the document; the whole place where that is unknown."""
    if document is None:
        return "".join(f"/{escape_pointer(str(part))}" for part in problem["loc"])
    at: Any = document
    tokens: list[int | str] = []
    *parents, last = problem["loc"] or [None]
    for part in parents:
        if _has(at, part):
            tokens.append(part)
            at = at[part]
    if last is not None and (problem["type"] in _ABOUT_KEYS or _has(at, last)):
        tokens.append(last)
    return "".join(f"/{escape_pointer(str(token))}" for token in tokens)


def _has(value: object, part: int | str) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value)


def _parts(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else dict(enumerate(value))


def _path_of_depth(value: JSONValue, limit: int) -> str | None:
    """Looked for depth first, with a stack of its own."""
    stack = [(iter(_parts(value).items()), "")]
    while stack:
        found = next(((key, part) for key, part in stack[-1][0] if isinstance(part, dict | list)), None)
        if found is None:
            stack.pop()
            continue
        where = f"{stack[-1][1]}/{escape_pointer(str(found[0]))}"
        if len(stack) == limit:
            return where
        stack.append((iter(_parts(found[1]).items()), where))
    return None
