"""One opened file, as parsers see it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files import file_opener, json_reader
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.file_opener import Line

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One JSON value of a file, and its place there."""

    value: JSONValue
    location: str


@dataclass(kw_only=True)
class Source:
    """The unpacked bytes of a file; `skipped` collects the lines that a parser had to leave out.

    `documents` are the JSON values of a file that holds them among other text.
    """

    name: str
    data: bytes
    problems: Problems = field(default_factory=Problems)
    documents: list[Record] = field(default_factory=list)

    @cached_property
    def value(self) -> JSONValue:
        """The file as one JSON value."""
        return json_reader.json_value(self.data)

    @cached_property
    def is_lines(self) -> bool:
        """Whether the file is JSON Lines: several values, or one that begins on a line and ends there."""
        try:
            return not isinstance(self.value, dict | list)
        except BadFile:
            return self._has_line()

    def _has_line(self) -> bool:
        try:
            lines = _readable(file_opener.split_lines(self.data), Problems())
            return any(isinstance(record.value, dict | list) for record in lines)
        except BadFile:
            return False

    def records(self) -> Iterator[Record]:
        """The values of a JSON Lines file, bad lines noted and left out; else the one value."""
        if self.documents:
            yield from self.documents
            return
        if not self.is_lines:
            yield Record(value=self.value, location="")
            return
        yield from _readable(file_opener.split_lines(self.data), self.problems)

    def entries(self) -> Iterator[tuple[JSONObject, str]]:
        """The records, those that are lists entry by entry; what is no object is an empty one."""
        for record in self.records():
            if not isinstance(record.value, list):
                yield json_reader.obj(record.value), record.location
                continue
            for at, value in enumerate(record.value):
                yield json_reader.obj(value), f"{record.location}/{at}"

    def objects(self) -> Iterator[tuple[JSONObject, str]]:
        """The records that are objects; others are noted."""
        for record in self.records():
            if isinstance(record.value, dict):
                yield record.value, record.location
            else:
                self.problems.append(
                    BadFile(f"an object was expected, not {json_reader.kind(record.value)}", record.location)
                )


def parse_records(sources: Sequence[Source], read: Callable[[JSONValue, str], Iterable[Item]]) -> Iterator[Item]:
    """What `read` finds in the records of several files; a bad file or line adds nothing and is noted."""
    for source in sources:
        try:
            found = list(_found(source, read))
        except BadFile as problem:
            source.problems.append(problem)
        else:
            yield from found


def _found(source: Source, read: Callable[[JSONValue, str], Iterable[Item]]) -> Iterator[Item]:
    for record in source.records():
        try:
            found = list(read(record.value, record.location))
        except BadFile as problem:
            if not source.is_lines and not source.documents:
                raise
            source.problems.append(problem)
        else:
            yield from found


def _readable(lines: Iterator[Line], skipped: Problems) -> Iterator[Record]:
    for line in lines:
        try:
            value = json_reader.json_value(line.data)
        except BadFile as problem:
            skipped.append(problem.prefix_location(line.location))
        else:
            yield Record(value=value, location=line.location)
