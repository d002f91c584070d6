"""Dates and clock times as people and programs write them, besides ISO 8601. Pure.

Each has a shape: two of them can be the same value of two executions only if both are written in the same way.
"""

import re
from typing import Final

_START, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_MONTHS: Final = (
    "January Jan February Feb March Mar April Apr May June Jun July Jul August Aug September Sept Sep October Oct "
    "November Nov December Dec"
)
# German, French, Spanish, Italian, Portuguese and Dutch.
_OTHER_MONTHS: Final = (
    "Januar Jänner Februar März Mai Juni Juli Oktober Dezember janvier février mars avril mai juin juillet août "
    "septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre "
    "noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro "
    "fevereiro março maio junho julho setembro outubro novembro dezembro januari februari maart april mei juni "
    "juli augustus september oktober november december"
)
_WEEKDAYS: Final = "Monday Mon Tuesday Tues Tue Wednesday Wed Thursday Thurs Thu Friday Fri Saturday Sat Sunday Sun"


def _any_of(words: str) -> str:
    return rf"(?:{'|'.join([*words.split(), *words.upper().split()])})\b"


_MONTH: Final = _any_of(_MONTHS)
_OTHER_MONTH: Final = _any_of(_OTHER_MONTHS)
_WEEKDAY: Final = rf"{_any_of(_WEEKDAYS)}\.?"
_NUMBER: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_ORDINAL: Final = rf"{_NUMBER}(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:19|20)\d\d"
# From 2015 on: earlier ones are those of no execution, and rather versions such as 10.11.12.
_SHORT_YEAR: Final = r"(?:1[5-9]|[2-9]\d)"
_ZONE: Final = r"(?: ?(?:Z|UTC|GMT)?[+-]\d\d:?\d\d| ?(?:Z|UTC|GMT|[ECMP][SD]T|[CEW]ES?T|BST|IST|JST|[A]E[SD]T)\b)?"
_SECONDS: Final = r":[0-5]\d(?:[.,]\d{1,9})?"
_HALF: Final = r"\s?(?:[AaPp]\.[Mm]\.|[AaPp][Mm]\b)"
# Twelve hours with their half of the day, or 24 with two digits or with seconds.
_CLOCK: Final = (
    rf"(?:(?:0?[1-9]|1[0-2]):[0-5]\d(?:{_SECONDS})?{_HALF}|(?:[01]\d|2[0-3]):[0-5]\d(?:{_SECONDS})?|\d{_SECONDS}{_SECONDS})"
    rf"(?![:\d]){_ZONE}"
)
_WRITTEN_DATE: Final = (
    # Sat, 28 Nov 2026; 28th of November, 2026; 28-Nov-26; 28/Nov/2026; 28. November
    rf"(?:{_WEEKDAY},? )?{_ORDINAL}\.?(?:[ /-]| of ){_MONTH}\.?(?:,? {_YEAR}|[/-](?:{_YEAR}|\d\d))?"
    # Saturday, November 28, 2026; Nov 28; November 28th
    rf"|(?:{_WEEKDAY},? )?{_MONTH}\.? {{1,2}}{_ORDINAL}(?:,? {_YEAR})?"
    # November 2026
    rf"|{_MONTH}\.?,? {_YEAR}"
    # 28. Dezember 2026; 28 de noviembre de 2026
    rf"|{_NUMBER}\.? (?:de )?{_OTHER_MONTH},?(?: (?:de |del )?{_YEAR})?"
)
_NUMERIC_DATE: Final = (
    rf"{_YEAR}(?P<separator>[/.])(?:0?[1-9]|1[0-2])(?P=separator){_NUMBER}"
    rf"|{_NUMBER}(?P<other_separator>[/.-]){_NUMBER}(?P=other_separator){_YEAR}"
    rf"|{_NUMBER}/{_NUMBER}/{_SHORT_YEAR}"
    rf"|(?<!\d\.)(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.{_SHORT_YEAR}(?!\.\d)"
    r"|(?:19|20)\d\d-W[0-5]\d(?:-[1-7])?"
    r"|(?:19|20)\d\d年(?:1[0-2]|0?[1-9])月(?:3[01]|[12]\d|0?[1-9])日"
)
# Of ctime and of `date`, which have the time before the year.
_CTIME: Final = (
    rf"{_WEEKDAY} (?:{_MONTH} {{1,2}}{_NUMBER}|{_NUMBER} {_MONTH}) (?:[01]?\d|2[0-3]){_SECONDS}{_SECONDS}(?:{_HALF})?"
    rf"(?: (?:[A-Z]{{2,5}}|[+-]\d\d(?:\d\d)?))? {_YEAR}"
    # Of logs of HTTP servers.
    rf"|{_NUMBER}/{_MONTH}/{_YEAR}:(?:[01]\d|2[0-3]){_SECONDS}{_SECONDS}(?: [+-]\d{{4}})?"
)
# 20261128T185310Z, 20261128_185310, 2026-11-28_18-53-10
_COMPACT: Final = (
    r"(?:19|20)\d\d(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])[T _-](?:[01]\d|2[0-3])(?P<colon>[-.]?)"
    r"[0-5]\d(?:(?P=colon)[0-5]\d(?:[.,]?\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
)
TIME: Final = rf"{_START}(?:{_CTIME}|{_COMPACT}){_END}"
DATE: Final = rf"{_START}(?:{_WRITTEN_DATE}|{_NUMERIC_DATE}){_END}"
CLOCK: Final = rf"{_START}(?<!\d:){_CLOCK}{_END}"

_FRACTION: Final = re.compile(r"(?<=[0-5]\d)[.,]\d+$|(?<=[0-5]\d)[.,]\d+(?=[Z +-])")
_HALF_OF_DAY: Final = re.compile(_HALF)
_ZONE_AT_END: Final = re.compile(f"{_ZONE}$")
_ORDINAL_END: Final = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_WORD: Final = re.compile(r"[^\W\d_]+")
_DIGITS: Final = re.compile(r"\d+")
_SPACES: Final = re.compile(r" +")
_CLASSES: Final = {
    **dict.fromkeys(f"{_MONTHS} {_OTHER_MONTHS}".casefold().split(), "month"),
    **dict.fromkeys(_WEEKDAYS.casefold().split(), "weekday"),
}


def shape(text: str) -> str:
    """Return how a date or a time is written, without what it is.

    >>> shape("Saturday, Nov 28, 2026") == shape("Tuesday, Dec 1, 2026") != shape("Tuesday, 1 Dec 2026")
    True
    """
    text = _HALF_OF_DAY.sub(" half", _ZONE_AT_END.sub("", _FRACTION.sub("", text)))
    text = _WORD.sub(lambda match: _word_class(match[0]), _ORDINAL_END.sub("th", text))
    # A day or an hour may have one digit or two.
    return _DIGITS.sub(lambda match: "0" * max(2, len(match[0])), _SPACES.sub(" ", text))


def _word_class(word: str) -> str:
    """Return what a word of a date stands for; names may be whole or shortened, and May is both."""
    return _CLASSES.get(word.casefold()) or ("zone" if word.isupper() and len(word) > 1 else word)
