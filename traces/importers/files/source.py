"""An opened file, its JSON records and the problems found in it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files import file_opener, json_reader, tables
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.file_opener import Line

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One JSON value of a file and its location there."""

    value: JSONValue
    location: str


@dataclass(kw_only=True)
class Source:
    """The decompressed bytes of a file.

    `problems` collects the parts that a parser could not read. `documents` are JSON values found among other text.
    """

    name: str
    data: bytes
    problems: Problems = field(default_factory=Problems)
    documents: list[Record] = field(default_factory=list)

    @cached_property
    def value(self) -> JSONValue:
        """The whole file as one JSON value. Some programs encode a document twice: then it is inside a string."""
        return json_reader.parse_embedded(json_reader.json_value(self.data))

    @cached_property
    def is_table(self) -> bool:
        """Whether the file is a table as CSV."""
        return tables.is_table(self.data)

    @cached_property
    def is_lines(self) -> bool:
        """Whether the file is JSON Lines: not one document, but at least one object or list on a line."""
        if self.is_table:
            return False
        try:
            return not isinstance(self.value, dict | list)
        except BadFile:
            return self._has_line()

    @property
    def has_rows(self) -> bool:
        """Whether the file has several records: lines, or the rows of a table."""
        return self.is_lines or self.is_table

    def _has_line(self) -> bool:
        try:
            lines = _read_lines(file_opener.split_lines(self.data), Problems())
            return any(isinstance(record.value, dict | list) for record in lines)
        except BadFile:
            return False

    def records(self) -> Iterator[Record]:
        """Yield the rows of a table, the values of a JSON Lines file without its bad lines, or the single value."""
        if self.documents:
            yield from self.documents
            return
        if self.is_table:
            rows = tables.read_rows(self.data, self.problems)
            yield from (Record(value=row, location=location) for row, location in rows)
            return
        if not self.is_lines:
            yield Record(value=self.value, location="")
            return
        yield from _read_lines(file_opener.split_lines(self.data), self.problems)

    def entries(self) -> Iterator[tuple[JSONObject, str]]:
        """Yield the records, or their items if they are lists; a value that is not an object becomes `{}`."""
        for record in self.records():
            if not isinstance(record.value, list):
                yield as_object(record.value), record.location
                continue
            for index, value in enumerate(record.value):
                yield as_object(value), f"{record.location}/{index}"

    def objects(self) -> Iterator[tuple[JSONObject, str]]:
        """Yield the records that are objects; add a problem for each other one."""
        for record in self.records():
            if isinstance(record.value, dict):
                yield record.value, record.location
            else:
                self.problems.append(
                    BadFile(f"expected an object, got {json_reader.kind(record.value)}", record.location)
                )


class SegmentSource(Source):
    """Records that arrived together. Their bytes are read again at each look, and not kept."""

    def __init__(self, name: str, read: Callable[[], bytes]) -> None:
        self._read = read
        super().__init__(name=name, data=b"")

    @property
    def data(self) -> bytes:
        return self._read()

    @data.setter
    def data(self, _: bytes) -> None:
        """Keep nothing."""


def parse_records(sources: Sequence[Source], read_record: Callable[[JSONValue, str], Iterable[Item]]) -> Iterator[Item]:
    """Yield what `read_record` returns for the records of all files; bad files and lines add a problem."""
    for source in sources:
        try:
            parsed_items = list(_parse_source(source, read_record))
        except BadFile as problem:
            source.problems.append(problem)
        else:
            yield from parsed_items


def _parse_source(source: Source, read_record: Callable[[JSONValue, str], Iterable[Item]]) -> Iterator[Item]:
    for record in source.records():
        try:
            parsed_items = list(read_record(record.value, record.location))
        except BadFile as problem:
            if not (source.has_rows or source.documents):
                raise
            source.problems.append(problem)
        else:
            yield from parsed_items


def _read_lines(lines: Iterator[Line], problems: Problems) -> Iterator[Record]:
    for line in lines:
        try:
            value = json_reader.json_value(line.data)
        except BadFile as problem:
            problems.append(problem.prefix_location(line.location))
        else:
            yield Record(value=value, location=line.location)
