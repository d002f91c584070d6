"""Shape of a tool call: the part that must be equal for two calls to be comparable, and its free texts. Pure.

Numbers, booleans, dates, ids, addresses, paths and enumerations must be equal. Only free text may differ, and never in
a number or a negation.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

from traces.core.canonical import digest, escape_pointer
from traces.core.json_types import JSONValue

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?")
# The default precision of 28 digits would make two long ids equal.
_EVERY_DIGIT: Final = Context(prec=64)
_ASCII_IDENTIFIER: Final = re.compile("[0-9@/_]")
_MOST_WORDS: Final = 4_096
_WORD: Final = re.compile(r"\S+")
# Of `monday's`, `twenty-one` or `now—not`.
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_TRIM: Final = "\"'`.,;:!?()[]{}<>"
# Also without an apostrophe, as people type, and in other languages.
_NEGATIONS: Final = frozenset(
    _WORD.findall(
        """
        no not never none nothing nobody nowhere neither nor without except unless cannot false off disable disabled
        exclude excluding dont doesnt didnt isnt arent wasnt werent wont wouldnt cant couldnt shouldnt mustnt
        hasnt havent hadnt nicht kein keine keinen keinem keiner nie niemals ohne pas jamais sans aucun aucune sin
        nunca jamás ningún ninguna non senza mai não nunca sem niet geen zonder
        """
    )
)
_DATES: Final = frozenset(
    _WORD.findall(
        """
        monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
        january february march april may june july august september october november december
        jan feb mar apr jun jul aug sep sept oct nov dec
        today tomorrow yesterday tonight am pm a.m p.m noon midnight
        """
    )
)
# Two requests differ by them, but an answer that says the same in other words may add or drop them.
_RELATIONS: Final = frozenset(
    _WORD.findall("next last previous before after since until first second once single plus minus")
)
_QUANTITIES: Final = frozenset(
    _WORD.findall(
        """
        zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen
        third fourth fifth sixth seventh eighth ninth tenth twice thrice double triple half quarter all any both
        """
    )
)
_SINGULAR_WORDS: Final = _NEGATIONS | _DATES | _QUANTITIES | _RELATIONS
_FIXED_WORDS: Final = _SINGULAR_WORDS | {f"{word}s" for word in _SINGULAR_WORDS}


@dataclass(frozen=True, kw_only=True, slots=True)
class CallShape:
    """The digest that two comparable calls share (`rigid`), and the texts that may differ, in order."""

    rigid: str
    texts: tuple[str, ...]


def shape_of(tool: str, arguments: JSONValue) -> CallShape:
    """Return the shape of a tool call."""
    rigid: list[JSONValue] = [tool]
    texts: list[str] = []
    _collect(arguments, "", rigid, texts)
    return CallShape(rigid=digest(rigid), texts=tuple(texts))


def _collect(value: JSONValue, path: str, rigid: list[JSONValue], texts: list[str]) -> None:
    if isinstance(value, dict):
        rigid.append([path, "object", *sorted(value)])
        for key in sorted(value):
            _collect(value[key], f"{path}/{escape_pointer(key)}", rigid, texts)
    elif isinstance(value, list):
        rigid.append([path, "list", len(value)])
        for index, item in enumerate(value):
            _collect(item, f"{path}/{index}", rigid, texts)
    elif isinstance(value, str) and _is_free(value):
        text = _normalize(value)
        rigid.append([path, "text", *fixed_tokens(text)])
        texts.append(text)
    else:
        rigid.append([path, "value", _rigid(value)])


def _rigid(value: JSONValue) -> JSONValue:
    """Return numbers by value, also if written as text, unless a leading zero makes them an id.

    A single word is compared without case and surrounding spaces, like free text, but must be equal.
    """
    if isinstance(value, bool) or value is None:
        return value
    text = str(value)
    if isinstance(value, int | float) or _NUMBER.fullmatch(text):
        return f"number {Decimal(text).normalize(_EVERY_DIGIT):f}"
    return f"text {text if _is_identifier(text) else _normalize(text)}"


def _is_free(value: str) -> bool:
    """True for several words; a single token is a name, an id, an address, a path or an enum value."""
    words = value.split()
    return len(words) > 1 and any(character.isalpha() for character in value)


def _normalize(value: str) -> str:
    return " ".join(unicodedata.normalize("NFC", value).casefold().split())


def fixed_tokens(text: str) -> list[str]:
    """Return the tokens that similar texts must share: numbers, ids, addresses, paths, dates, quantities, negations.

    Their order counts: in a payment, the order of the accounts decides who pays whom.
    """
    return [token for word in text.split() for token in _fixed_parts(word)]


# Every call of a tool is indexed by them, and most words repeat.
@lru_cache(_MOST_WORDS)
def _fixed_parts(word: str) -> Sequence[str]:
    """Return a word without punctuation if it is such a token, else the parts of it that are."""
    token = word.strip(_TRIM).replace("\u2019", "'")
    if _is_identifier(token) or token.endswith("n't"):
        return (token,)
    return tuple(part for part in dict.fromkeys((token, *_LETTERS.findall(token))) if part in _FIXED_WORDS)


def stated_facts(text: str) -> list[str]:
    """Return the numbers, ids, dates, quantities and negations in an answer, sorted: wording changes their order."""
    return sorted(token for token in fixed_tokens(text) if token not in _RELATIONS)


def _is_identifier(token: str) -> bool:
    if token.isascii():
        return _ASCII_IDENTIFIER.search(token) is not None
    return any(character.isnumeric() for character in token) or "@" in token or "/" in token or "_" in token
