"""What a changed result is about: the words that name it, in its call or beside what changed. Pure.

    call      get_invoice {"payer": "Lang"}                                the invoice of Lang
    result    {"field": "ratio", "limit": 40 -> 50, "then": "refuse"}      the rule about the ratio, which refuses

Code that composes a message of several results writes a line for each of them, and most lines name their subject. So a
change of one subject hardly explains a line about another. Subjects order changes that no replay could decide between.
They are no evidence.
"""

import re
from collections.abc import Iterator
from typing import Final

from diffing.sequences.json_diff import parse_embedded_json, value_changes
from traces.core.json_types import JSONValue
from traces.core.json_walk import find, pointer_tokens, scalars

# Shorter words and single digits name nothing.
_NAME: Final = re.compile(r"[^\W\d_]{3,}|\w*\d\w+|\w+\d\w*")
# Without a digit, `_NAME` would search the rest of a run at each of its characters.
_RUN: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
_LETTERS: Final = re.compile(r"[^\W\d_]{3,}")
_SEPARATOR: Final = re.compile(r"[,;|\n]\s")
# A text with more parts lists values; "Lang, Ana" is a name.
_MAX_PARTS: Final = 2
# The number of changed values of a result to look at.
_MAX_CHANGES: Final = 20
# Longer texts are about many things.
_MAX_CHARACTERS: Final = 100


def subject(calls: tuple[JSONValue, JSONValue], results: tuple[JSONValue, JSONValue]) -> frozenset[str]:
    """The words that name what differs between two results, equal in both runs."""
    base, candidate = map(parse_embedded_json, results)
    sides = [
        {word for text in (*_texts(call), *_sibling_texts(*own)) for word in names(text)}
        for call, own in zip(calls, ((base, candidate), (candidate, base)), strict=True)
    ]
    return frozenset(sides[0] & sides[1])


def names(text: str) -> set[str]:
    """The words of a text that may name something."""
    runs = _RUN.findall(text.casefold())
    return {name for run in runs for name in (_NAME if _DIGIT.search(run) else _LETTERS).findall(run)}


def _sibling_texts(value: JSONValue, other: JSONValue) -> Iterator[str]:
    """The texts beside the values that differ, in the same objects, and short texts that differ themselves."""
    for change in value_changes(value, other, _MAX_CHANGES):
        if isinstance(change.base, str) and len(change.base) <= _MAX_CHARACTERS:
            yield change.base
        parent = find(value, pointer_tokens(change.path)[:-1])
        if isinstance(parent, dict):
            yield from (item for item in parent.values() if isinstance(item, str) and _is_name(item))


def _is_name(text: str) -> bool:
    return len(_SEPARATOR.split(text, _MAX_PARTS)) <= _MAX_PARTS


def _texts(value: JSONValue) -> Iterator[str]:
    """The texts within a value."""
    return (item for _, item in scalars(value) if isinstance(item, str))
