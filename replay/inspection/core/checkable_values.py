"""Checkable values in texts: numbers, ids and dates in a canonical spelling. Pure."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONObject, JSONValue

# A JSON pointer, and the text there.
Leaf = tuple[str, str]

_NAMES: Final = (
    ("january", "jan"),
    ("february", "feb"),
    ("march", "mar"),
    ("april", "apr"),
    ("may",),
    ("june", "jun"),
    ("july", "jul"),
    ("august", "aug"),
    ("september", "sep", "sept"),
    ("october", "oct"),
    ("november", "nov"),
    ("december", "dec"),
)
_MONTHS: Final = {name: number for number, names in enumerate(_NAMES, 1) for name in names}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
# A word begins where its letters do: tried at each letter, a long word without a digit would take hours.
_TOKEN: Final = re.compile(
    r"(?P<iso>\b\d{4}-\d\d-\d\d)(?:T\S*)?"
    rf"|\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
    rf"|\b(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month2>{_MONTH})\b"
    r"|(?P<full_hour>\b\d{1,2})[^\S\n]?(?P<half2>[ap])\.?m\b"
    # Of twelve hours, the half of the day may follow.
    r"|(?P<hour>\b\d{1,2}):(?P<minute>\d\d)(?:(?=(?::\d\d)?[^\S\n]?(?P<half>[ap])\.?m\b)|\b)"
    r"|(?<![^\W\d_])(?P<word>[^\W_]*\d[^\W_]*(?:[-_.:/][^\W_]+)*(?<![.:/])|[^\W\d_]+(?:[-_][^\W_]*\d[^\W_]*)+)",
    re.IGNORECASE,
)
_MOMENT: Final = re.compile(r"\b\d{4}-\d\d-\d\dT(\d\d:\d\d)")
_DIGIT: Final = re.compile(r"\d")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
# Of the whole part of a number, and characters of all of it.
_MOST_DIGITS: Final = 12
_LONGEST_NUMBER: Final = 40
# Commas, apostrophes, and spaces that do not break lines.
_GROUP_MARK: Final = re.compile(r"(?<=\d)[,'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))")
# Points between groups, and a comma before the fraction.
_CONTINENTAL: Final = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d{1,2})(?![\d,])")
# A unit or a currency may be written with or without a space; longer numbers are ids.
_WITH_UNIT: Final = re.compile(r"(?:(?:chf|eur|gbp|usd)(?=\d)|(?=\d))(\d{1,5}(?:\.\d+)?)[a-z]{0,3}")
_NUMERIC_DATE: Final = re.compile(r"\b(\d{1,2})([/.])(\d{1,2})\2(?:\d\d){1,2}\b")
_SEPARATORS: Final = re.compile(r"[-_.:/]")
_LIST_MARKER: Final = re.compile(r"^[^\S\n]*+(?:step )?\d{1,2}[.):](?=\s)", re.IGNORECASE | re.MULTILINE)
_DIGITS: Final = re.compile(r"\d{3,}")
_RUN: Final = re.compile(r"\d{2,}")
_LONG: Final = re.compile(r"\d{5,}")
_ORDINAL: Final = re.compile(r"\d+(?:st|nd|rd|th|x|%|am|pm|h|min|s|k|gb|mb|kg|cm|mm|km|g|ml|l)", re.IGNORECASE)


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """Every value in a text: its canonical spelling, and its spelling in the text."""
    for token, spelling, _ in tokens_in(without_punctuation(text)):
        yield token, spelling


def without_punctuation(text: str) -> str:
    """Text without list markers, and without marks between the groups of digits of a number."""
    return _GROUP_MARK.sub("", _CONTINENTAL.sub(_with_point, _LIST_MARKER.sub(" ", text)))


def _with_point(match: re.Match[str]) -> str:
    """`1.234,50` as 1234.50."""
    return f"{match[1].replace('.', '')}.{match[2]}"


def tokens_in(text: str) -> Iterator[tuple[str, str, int]]:
    """Every value in a text without such punctuation: its canonical spelling, its spelling, and where it begins."""
    if _DIGIT.search(text) is None:
        return
    for match in _TOKEN.finditer(text):
        spelling, at = match.group(), match.start()
        if (month := match["month"] or match["month2"]) is not None:
            yield f"{_MONTHS[month.lower()]:02}-{int(match['day'] or match['day2']):02}", spelling, at
        elif (iso := match["iso"]) is not None:
            yield iso[5:], iso, at
            yield iso[:4], iso, at
        elif (half := match["half"] or match["half2"]) is not None:
            yield _time_of_day(match["hour"] or match["full_hour"], match["minute"] or "00", half), spelling, at
        else:
            yield plain(spelling), spelling, at


def _time_of_day(hour: str, minute: str, half: str) -> str:
    """Time of 24 hours: `08:30 PM` is 20:30, `10 pm` is 22:00, and `12:15 AM` is 00:15."""
    return f"{int(hour) % 12 + (12 if half.lower() == 'p' else 0):02}:{minute}"


def times_in(text: str) -> list[str]:
    """Times in moments such as `2024-05-25T20:30:00Z`, which are quoted alone."""
    return _MOMENT.findall(text)


def days_in(text: str) -> Iterator[str]:
    """Month and day of numeric dates such as `3/14/2026` and `14.03.2026`, in both orders where both are possible."""
    for match in _NUMERIC_DATE.finditer(text):
        first, second = int(match[1]), int(match[3])
        yield from (f"{month:02}-{day:02}" for month, day in ((first, second), (second, first)) if month <= len(_NAMES))


def plain(word: str) -> str:
    """Canonical spelling: a number without trailing zeros, or an id in lower case."""
    if unit := _ORDINAL.fullmatch(word):
        word = re.match(r"\d+", unit.group()).group()  # type: ignore[union-attr]  # it begins with digits
    if _NUMBER.fullmatch(word):
        return word.rstrip("0").rstrip(".") if "." in word else word
    return word.lower()


def parts(token: str) -> Iterator[str]:
    """A value and the pieces of it that may be quoted alone: `credit_card_9513` contains 9513."""
    yield token
    yield without_separators(token)
    if not _NUMBER.fullmatch(token):
        yield from pieces(token)
        yield from _DIGITS.findall(token)


def pieces(token: str) -> list[str]:
    """Pieces of a value with a digit: between separators, or without a unit; empty for a plain number."""
    if _NUMBER.fullmatch(token):
        return []
    if measure := _WITH_UNIT.fullmatch(token):
        return [plain(measure[1])]
    split = [plain(piece) for piece in _SEPARATORS.split(token) if any(c.isdigit() for c in piece)]
    return split if split != [token] else []


def without_separators(token: str) -> str:
    """An id without separators: `a1042` for `a-1042`. A number keeps its point."""
    return token if _NUMBER.fullmatch(token) else _SEPARATORS.sub("", token)


def endings(token: str) -> Iterator[str]:
    """Last digits of a long number, by which people refer to cards and accounts."""
    for digits in _LONG.findall(token):
        yield from (digits[-3:], digits[-4:])


def is_telling(token: str) -> bool:
    """True if a value is rarely right by chance: two digits in a row, and no placeholder such as 0000 or 1234."""
    runs = _RUN.findall(token)
    return token != "100" and any(not _is_placeholder(run) for run in runs)


def _is_placeholder(digits: str) -> bool:
    return len(digits) >= 4 and (len(set(digits)) == 1 or digits in "01234567890123456789")


def number(token: str) -> float | None:
    """Value of a number; None for ids. A fraction may be as long as floats make it."""
    is_number = _NUMBER.fullmatch(token) and len(token.partition(".")[0]) <= _MOST_DIGITS
    return float(token) if is_number and len(token) <= _LONGEST_NUMBER else None


def leaves(value: JSONValue, left_out: Callable[[JSONObject], bool] | None = None, path: str = "") -> Iterator[Leaf]:
    """Texts and numbers of a value with their paths, including keys with digits; `left_out` selects objects to skip."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        if left_out is not None and left_out(value):
            return
        for name, item in value.items():
            if _DIGIT.search(name):
                yield path, name
            yield from leaves(item, left_out, f"{path}/{escape_pointer(name)}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, left_out, f"{path}/{at}")
    elif value is not None and not isinstance(value, bool):
        yield path, repr(value)
