"""What of a tool call must be equal for another one to be comparable, and which texts of it may differ. Pure.

Numbers, booleans, dates, ids, addresses, paths and enumerations must be equal; only free text may differ, and never by
a number or a negation.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Final

from traces.core.canonical import digest, escape_pointer
from traces.core.json_types import JSONValue

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?")
_EVERY_DIGIT: Final = Context(prec=64)  # the default rounds after 28, and would take two long ids for one
_TOKEN: Final = re.compile(r"\S+")
_TRIM: Final = "\"'`.,;:!?()[]{}<>"
_NEGATIONS: Final = frozenset(
    {
        "no",
        "not",
        "never",
        "none",
        "nothing",
        "nobody",
        "nowhere",
        "neither",
        "nor",
        "without",
        "except",
        "unless",
        "cannot",
        "false",
        "off",
        "disable",
        "disabled",
        "exclude",
        "excluding",
    }
)
_DATES: Final = frozenset(
    {
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "today",
        "tomorrow",
        "yesterday",
    }
)
_QUANTITIES: Final = frozenset(
    {
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "hundred",
        "thousand",
        "million",
        "half",
        "double",
        "all",
        "any",
        "both",
    }
)
_FIXED: Final = _NEGATIONS | _DATES | _QUANTITIES


@dataclass(frozen=True, kw_only=True, slots=True)
class CallShape:
    """What must be equal for two calls to be comparable (`rigid`), and the texts that may differ, in order."""

    rigid: str
    texts: tuple[str, ...]


def shape_of(tool: str, arguments: JSONValue) -> CallShape:
    """The shape of a call of a tool."""
    rigid: list[JSONValue] = [tool]
    texts: list[str] = []
    _walk(arguments, "", rigid, texts)
    return CallShape(rigid=digest(rigid), texts=tuple(texts))


def _walk(value: JSONValue, path: str, rigid: list[JSONValue], texts: list[str]) -> None:
    if isinstance(value, dict):
        rigid.append([path, "object", *sorted(value)])
        for key in sorted(value):
            _walk(value[key], f"{path}/{escape_pointer(key)}", rigid, texts)
    elif isinstance(value, list):
        rigid.append([path, "list", len(value)])
        for index, item in enumerate(value):
            _walk(item, f"{path}/{index}", rigid, texts)
    elif isinstance(value, str) and _is_free(value):
        text = _normalised(value)
        rigid.append([path, "text", *fixed_tokens(text)])
        texts.append(text)
    else:
        rigid.append([path, "value", _rigid(value)])


def _rigid(value: JSONValue) -> JSONValue:
    """Numbers by value, also when written as text, except where a leading zero makes them an id.

    A single word is compared as free texts are, without capitals and outer spaces, but it has no similar ones.
    """
    if isinstance(value, bool) or value is None:
        return value
    text = str(value)
    if isinstance(value, int | float) or _NUMBER.fullmatch(text):
        return f"number {Decimal(text).normalize(_EVERY_DIGIT):f}"
    return f"text {text if _is_identifier(text) else _normalised(text)}"


def _is_free(value: str) -> bool:
    """Free text has several words; a single token is a name, an id, an address, a path or one of an enumeration."""
    words = value.split()
    return len(words) > 1 and any(character.isalpha() for character in value)


def _normalised(value: str) -> str:
    return " ".join(unicodedata.normalize("NFC", value).casefold().split())


def fixed_tokens(text: str) -> Iterable[str]:
    """What has to be the same in two alike texts: numbers, ids, addresses, paths, dates, quantities and negations.

    In the order of the text: who pays whom is said by which number comes first.
    """
    for match in _TOKEN.finditer(text):
        token = match.group().strip(_TRIM)
        word = token.replace("\u2019", "'")
        if word in _FIXED or word.endswith("n't") or _is_identifier(token):
            yield word


def _is_identifier(token: str) -> bool:
    return any(character.isdigit() for character in token) or "@" in token or "/" in token or "_" in token
