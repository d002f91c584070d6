"""SQLite databases in which a program stores what it also exports as JSON: their rows as these documents."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from traces.core.recorded_run import RecordedRun
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record, Source
from traces.importers.files.sqlite_file import Database


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """The database of a program, known by one column of its first table.

    `columns` are those that are read, by table. `read` yields the documents; those of a database that has only the
    first table must not need another.
    """

    title: str
    mark: str
    columns: dict[str, Sequence[str]]
    read: Callable[[Database], Iterator[Record]]

    @property
    def table(self) -> str:
        return next(iter(self.columns))

    def is_database(self, sample: Sample) -> bool:
        return sqlite_file.has_column(sample.head, self.table, self.mark)

    def documents(self, source: Source) -> list[Record]:
        """Return the documents. Raises `BadFile` for a database without any."""
        database = Database(source.data, self.columns)
        try:
            if self.table not in database:
                raise BadFile(f"a database of {self.title} needs `{self.table}`", f"table {self.table}")
            records = [*self.read(database)]
        finally:
            database.close()
        if not records:
            raise BadFile(f"this database of {self.title} is empty", f"table {self.table}")
        return records


def sniff(is_database: Callable[[Sample], bool], sniff_file: Callable[[Sample], float]) -> Callable[[Sample], float]:
    """Return a sniffer that also accepts the database."""
    return lambda sample: 1.0 if is_database(sample) else sniff_file(sample)


def parse(
    documents: Callable[[Source], list[Record]], parse_file: Callable[[Source], Iterable[RecordedRun]]
) -> Callable[[Source], Iterator[RecordedRun]]:
    """Return a parser that also reads the database."""

    def parse_either(source: Source) -> Iterator[RecordedRun]:
        if source.data.startswith(sqlite_file.MAGIC):
            source.documents = documents(source)
        yield from parse_file(source)

    return parse_either
