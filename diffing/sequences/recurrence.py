"""Recurrence of a difference in another text: its words, its fields, or its numbers in another form. Pure.

    result   "snow": 20 -> 50        message  "pass Fuorcla: 20 cm" -> "pass Fuorcla: 50 cm"    the same words
    result   "quota": 7 -> 3         message  "" -> "error: above the quota of 3"               the field and its value
    result   "climb_ft": 4100 -> 2300    message  "1,250 m" -> "701 m"                          the same ratio

It orders changes that no replay could decide between. It is no evidence: texts may agree by chance.
"""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Final

from diffing.sequences.json_diff import parse_embedded_json, value_changes
from diffing.sequences.word_hunks import contains_words, hunks, is_copy
from traces.core.json_types import JSONValue

# Shorter words occur in any two texts.
_WORD: Final = re.compile(r"[^\W\d_]{4,}|\d[\d.,:-]*\d")
_DATE: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
# With more numbers that differ, some ratio agrees by chance.
_MOST: Final = 4
# Rounding changes a ratio by less than this.
_TOLERANCE: Final = 0.01
# Smaller differences, as of list numbers, agree by chance.
_LEAST_DIFFERENCE: Final = 2.0
# Numbers of one digit, or of two with a point, change alike by chance.
_TWO_DIGITS: Final = 10.0
_THREE_DIGITS: Final = re.compile(r"\d(?:\.?\d){2}")
# The number of differing fields of a text to look for.
_MAX_FIELDS: Final = 20
# A text of the base and one of the candidate.
Texts = tuple[str, str]
# A number of the base and one of the candidate.
Move = tuple[float, float]


def recurs(own: Texts, other: Texts) -> bool:
    """True if the difference between two texts recurs in the difference between two others."""
    if recurs_in_words(own, other):
        return True
    if any(names_field(*own, hunk.base, hunk.candidate) for hunk in hunks(*other)):
        return True
    own_moves = [move for move in number_moves(*own) if _is_distinctive(move)]
    return any(moves_alike(move, theirs) for move in own_moves for theirs in number_moves(*other))


def recurs_in_words(own: Texts, other: Texts) -> bool:
    """True if words or numbers of the difference between two texts are the same in that between two others."""
    differences = hunks(*other)
    if any(is_copy(hunk, difference) for hunk in hunks(*own) for difference in differences):
        return True
    words = distinct_words(*own), distinct_words(*other)
    return any(theirs and 2 * len(mine & theirs) >= len(theirs) for mine, theirs in zip(*words, strict=True))


def names_field(base: JSONValue, candidate: JSONValue, *words: str) -> bool:
    """True if the words of either side contain the name of a field that differs, and that side's value of it."""
    fields = value_changes(parse_embedded_json(base), parse_embedded_json(candidate), _MAX_FIELDS)
    return any(
        _names(side_words, field.path.rpartition("/")[2], value)
        for field in fields
        for side_words, value in zip(words, (field.base, field.candidate), strict=True)
    )


def _names(words: str, name: str, value: JSONValue) -> bool:
    is_value = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_value and not name.isdecimal() and contains_words(name, words) and contains_words(str(value), words)


def distinct_words(base: str, candidate: str) -> tuple[set[str], set[str]]:
    """The distinctive words of each text that the other does not have."""
    base_words, candidate_words = distinctive_words(base), distinctive_words(candidate)
    return base_words - candidate_words, candidate_words - base_words


def distinctive_words(text: str) -> set[str]:
    """The words of a text that do not occur in any two texts by chance."""
    # Long texts repeat their words, and splitting at spaces is faster than searching for words.
    return {*_WORD.findall(" ".join({*text.casefold().split()}))}


def number_moves(base: str, candidate: str) -> list[Move]:
    """Pair the numbers that only one of two texts has; none if there are too many of them."""
    removed, added = differing_numbers(base, candidate)
    return [(old, new) for old in removed for new in added] if max(len(removed), len(added)) <= _MOST else []


def differing_numbers(base: str, candidate: str) -> tuple[list[float], list[float]]:
    """The numbers that only the base's text has, and those that only the candidate's has."""
    before, after = Counter(_numbers(base)), Counter(_numbers(candidate))
    return list((before - after).elements()), list((after - before).elements())


def _numbers(text: str) -> Sequence[float]:
    """The numbers of a text, dates as their number of days."""
    numbers: list[float] = []
    for year, month, day in _DATE.findall(text):
        with suppress(ValueError):
            numbers.append(float(date(int(year), int(month), int(day)).toordinal()))
    return numbers + [float(number.replace(",", "")) for number in _NUMBER.findall(_DATE.sub(" ", text))]


def _is_distinctive(move: Move) -> bool:
    """Return whether numbers have so many digits that others hardly move like them by chance."""
    return max(move) >= _TWO_DIGITS or any(_THREE_DIGITS.search(f"{number:g}") for number in move)


def moves_alike(move: Move, other: Move) -> bool:
    """True if two numbers moved by the same ratio, or by the same difference."""
    (old, new), (other_old, other_new) = move, other
    difference = new - old
    if abs(difference) >= _LEAST_DIFFERENCE and abs(difference - (other_new - other_old)) <= _TOLERANCE:
        return True
    if not all((old, new, other_old, other_new)):
        return False
    ratio = new / old
    return abs(other_new / other_old - ratio) <= _TOLERANCE * ratio
