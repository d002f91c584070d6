"""Members of a file whose values are in none of its runs, for the report of an import. Pure.

A value counts as read if a run contains it, or all of its words: importers join texts, wrap results and parse
arguments. What an importer translates is not compared: times, sums, durations, short values and single words, which
are mostly kinds and states. Nor are ids that occur more than once, because they link records to each other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from decimal import Decimal
from typing import Final

from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.python_literals import parse_cell, parse_object
from traces.importers.files.source import Source
from traces.payloads.conversation import Messages
from traces.reading.text_hashes import TextHashes

_SHORTEST: Final = 4
# Characters of a member's name, which is in the paths of all members inside of it.
_LONGEST_NAME: Final = 200
# In the place of bytes that are no text.
_UNREADABLE: Final = "\ufffd"
# Characters of runs that are kept until their words are needed: most files need none.
_LONGEST_UNREAD: Final = 16 * 2**20
# Different values in no run, of which those that only link records are known.
_MOST_VALUES: Final = 100_000
# Beginning of the place of a row.
_ROW: Final = "line "
# The text of an object of Python, as its `repr()` writes it.
_OBJECT: Final = re.compile(r"[A-Z]\w{0,60}\(\w{1,60}=")
_WORD: Final = re.compile(r"\w+")
_LONGEST_KIND: Final = 60
_KIND: Final = re.compile(r"[^\W\d]+(?:[.:/-][^\W\d]+)*")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]|$)|[0-9]+(?:\.[0-9]+)?$")
# Members whose single words are no kinds and states.
_NAMES: Final = re.compile(
    r"(?:name|model|title|author|user|text|content|query|question|prompt|answer|input|summary|description|comment"
    r"|command|label|url|city|note)$",
    re.I,
)
# The name of an attribute, where a list of these is written as objects.
_ATTRIBUTE: Final = "key"
_IDS: Final = re.compile(r"(?:id|ids|uuid|parent|children|hash|key)$", re.I)
_DERIVED: Final = re.compile(r"total|duration|latency|elapsed|time|start|index|count|_ns$|_ms$|_at$", re.I)
# Importers write these in one form.
_SPAN_IDS: Final = re.compile(r"(?:span|trace|parent)_?id$|dotted_order", re.I)
# Of costs.
_DECIMALS: Final = 8
# Seconds to nanoseconds of the years 2001 to 2286.
_EPOCHS: Final = tuple((10.0 ** (9 + exponent), 10.0 ** (10 + exponent)) for exponent in (0, 3, 6, 9))
# Names of members that are ids, such as those of messages.
_DATA_NAME: Final = re.compile(r"(?=.*[0-9])[\w.:/-]{8,}")


class RunContents:
    """The values of runs."""

    def __init__(self) -> None:
        self._texts = TextHashes()
        self._numbers = TextHashes()
        self._words = TextHashes()
        # Texts whose words were not needed so far, and their length.
        self._new_texts: list[str] = []
        self._new_length = 0
        # Requests of a conversation share its messages, and steps what is stated once for all of them.
        self._lengths: dict[int, int] = {}
        self._known_ids: set[int] = set()

    def add(self, run: RecordedRun) -> None:
        for field in fields(run):
            self._add(getattr(run, field.name))
        # Objects of later runs may have the identities of these.
        self._lengths.clear()
        self._known_ids.clear()

    def contains(self, value: JSONValue) -> bool:
        if not isinstance(value, str):
            number = float(value)  # type: ignore[arg-type]
            return round(number, _DECIMALS) in self._numbers or self._contains_words(str(value))
        text = value.strip()
        # Names of models have prefixes of their providers.
        is_text = text in self._texts or text.rpartition("/")[2] in self._texts
        return is_text or self._contains_words(text)

    def _contains_words(self, text: str) -> bool:
        self._read_words()
        return all(word in self._words for word in _WORD.findall(text))

    def _read_words(self) -> None:
        for text in self._new_texts:
            self._words.update(_WORD.findall(text))
        self._new_texts, self._new_length = [], 0

    def _add_text(self, text: str) -> None:
        if text in self._texts:
            return
        self._texts.update((text,))
        self._new_texts.append(text)
        self._new_length += len(text)
        if self._new_length > _LONGEST_UNREAD:
            self._read_words()

    def _add(self, value: object) -> None:
        match value:
            case str():
                self._add_text(value.strip())
            case bool() | None:
                pass
            case int() | float() | Decimal():
                self._numbers.update((round(float(value), _DECIMALS),))
            case _ if id(value) not in self._known_ids:
                # Every request of a conversation is another object, which may be gone before the next one.
                if type(value) is not Messages:
                    self._known_ids.add(id(value))
                for item in self._items(value):
                    self._add(item)

    def _items(self, value: object) -> Iterable[object]:
        """Return the parts of a value; of a conversation, those that no earlier request had."""
        match value:
            case dict():
                return [*value, *value.values()]
            case Messages():
                start = self._lengths.get(id(value.conversation), 0)
                self._lengths[id(value.conversation)] = max(start, len(value))
                return value[start:]
            case list() | tuple():
                return value
            case RecordedJudgement() | RecordedStep():
                return [getattr(value, field.name) for field in fields(value)]
        return ()


class UnreadMembers:
    """The members of files that are in no run, with the number of their values."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, sources: Iterable[Source], contents: RunContents) -> None:
        """Compare files with the runs that were read of them: JSON, tables and databases, without their bad parts."""
        values: Counter[tuple[str, int]] = Counter()
        ids: Counter[int] = Counter()
        for path, name, value in (leaf for source in sources for leaf in _leaves_of(source, contents)):
            if not _is_compared(name, value) or contents.contains(value):
                continue
            is_id = _IDS.search(name) is not None
            if len(values) < _MOST_VALUES:
                values[path, hash(value)] += 1
                ids[hash(value)] += is_id
            elif not is_id:
                self._counts[path] += 1
        for (path, value), count in values.items():
            self._counts.update({path: count} if ids[value] < 2 else {})

    def listing(self) -> tuple[tuple[str, int], ...]:
        """Return the members, those with most values first."""
        return tuple(self._counts.most_common())


def _leaves_of(source: Source, contents: RunContents) -> Iterator[tuple[str, str, JSONValue]]:
    try:
        for table, value in _values_of(source):
            yield from _leaves(value, table, "", contents)
    except BadFile:
        return


def _values_of(source: Source) -> Iterator[tuple[str, JSONValue]]:
    """Yield the values of a file without bad parts, or its good rows; those of a database with their tables."""
    if source.data.startswith(sqlite_file.MAGIC):
        rows = sqlite_file.all_rows(source.data) if not source.problems else ()
        yield from ((f"/{table}", row) for table, row in rows)
    elif source.has_rows:
        bad_rows = {problem.where.partition(",")[0] for problem in source.problems}
        if source.problems.overflow_count or not all(place.startswith(_ROW) for place in bad_rows):
            return
        # A copy, because reading rows reports the bad ones.
        records = replace(source, problems=Problems()).records()
        yield from (("", record.value) for record in records if record.location not in bad_rows)
    elif not source.problems:
        yield from (("", record.value) for record in source.records())


def _leaves(value: JSONValue, path: str, name: str, contents: RunContents) -> Iterator[tuple[str, str, JSONValue]]:
    """Yield the texts and numbers in a value, with their paths without the places in lists, and their names."""
    if isinstance(value, str) and value[:1] in {"{", "[", '"'} and not contents.contains(value):
        value = parse_cell(value)
    elif isinstance(value, str) and _OBJECT.match(value) and not contents.contains(value):
        value = parse_object(value) or value
    if isinstance(value, dict):
        for key, item in value.items():
            member = "*" if _DATA_NAME.fullmatch(key) else key[:_LONGEST_NAME]
            yield from _leaves(item, f"{path}/{member}", key, contents)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, path, name, contents)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, name, value


def _is_compared(name: str, value: JSONValue) -> bool:
    if isinstance(value, str):
        text = value.strip()
        if len(text) < _SHORTEST or _TIME.match(text) or _UNREADABLE in text:
            return False
        is_kind = len(text) <= _LONGEST_KIND and _KIND.fullmatch(text) is not None
        is_id = name == _ATTRIBUTE or _SPAN_IDS.search(name) is not None
        return not is_id and (not is_kind or _NAMES.search(name) is not None)
    number = abs(float(value))  # type: ignore[arg-type]
    is_long = number >= 1000 or (isinstance(value, float) and len(str(value).strip("0.")) >= _SHORTEST)
    return is_long and not _DERIVED.search(name) and not any(low <= number < high for low, high in _EPOCHS)
