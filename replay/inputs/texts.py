"""Texts inside values, and words inside texts. Pure."""

import re
from collections.abc import Iterator

import orjson

from traces.core.json_types import JSONValue
from traces.core.json_walk import children


def texts_in(value: JSONValue) -> Iterator[str]:
    """Every text of a value, in order."""
    if isinstance(value, str):
        yield value
    for item in children(value):
        yield from texts_in(item)


def leaves_in(value: JSONValue) -> Iterator[str]:
    """Every text, number and truth value as text, in order."""
    if isinstance(value, dict | list):
        for item in children(value):
            yield from leaves_in(item)
    elif value is not None:
        yield value if isinstance(value, str) else orjson.dumps(value).decode()


def has_words(text: str, words: str) -> bool:
    """True if `words` occur in a text as whole words."""
    return words in text and re.search(as_words(words), text) is not None


def as_words(text: str) -> str:
    """Pattern that finds a text as whole words: ``ok`` does not match in ``looks``."""
    before = r"(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", text) else ""
    after = r"(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]$", text) else ""
    return f"{before}{re.escape(text)}{after}"
