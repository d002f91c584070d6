"""An SQLite database from elsewhere. Pure.

A database is a program of sorts: a few bytes of it can describe values and rows without end. It is opened in memory
and read-only, with bounds on the work of all queries, on the length of a value, and on what is read of it altogether.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final

from traces.core.json_types import JSONValue
from traces.importers.files.errors import BadFile

MAGIC: Final = b"SQLite format 3\0"
Row = dict[str, JSONValue]
_JOURNAL_BYTES: Final = slice(18, 20)  # of the header: 2 says write-ahead log, which memory has not
_MOST_WORK: Final = 20_000  # thousands of virtual machine steps for all queries
_BYTES_FOR_WORK: Final = 200  # of the file, that allow for a thousand more
_LONGEST_VALUE: Final = 64 * 2**20
# A row that is really there has at least as many bytes in the file as a quarter of what is counted for it.
_AMPLIFICATION: Final = 4
_ALLOWANCE: Final = 2**20
_ROW_BYTES: Final = 16
_GENERATED: Final = frozenset({2, 3})  # `hidden` of `PRAGMA table_xinfo`: virtual and stored generated columns


class Overstated(BadFile):
    """The database describes more than its bytes can hold."""


class Database:
    """A database in memory; every method raises `BadFile` for one that is damaged or hostile."""

    def __init__(self, data: bytes, columns: dict[str, Sequence[str]]) -> None:
        """Open `data`, of which only these columns of these tables are read."""
        self._columns = columns
        self._left = _AMPLIFICATION * len(data) + _ALLOWANCE
        self._work = _MOST_WORK + len(data) // _BYTES_FOR_WORK
        self._connection = sqlite3.connect(":memory:")
        try:
            self._open(data)
            self._tables = {table: self._readable(table) for table in columns if self._has(table)}
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            raise BadFile(f"a damaged SQLite database: {error}", "byte 0") from error
        except BadFile:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def __contains__(self, table: str) -> bool:
        return table in self._tables

    def rows(self, table: str, rest: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a table as objects; `rest` is what follows the table's name in the query."""
        names = self._tables[table]
        listed = ", ".join(f'"{name}"' for name in names)
        for row in self.select(f"{listed} FROM {table} {rest}", values):
            yield {name: _plain(value) for name, value in zip(names, row, strict=True)}

    def select(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of `SELECT query`, which must be of our own making."""
        try:
            for row in self._connection.execute(f"SELECT {query}", values):
                self._count(row)
                yield row
        except sqlite3.Error as error:
            raise BadFile(f"the database cannot be read: {error}", "byte 0") from error

    def _open(self, data: bytes) -> None:
        connection = self._connection
        connection.deserialize(bytes(data[:18]) + b"\x01\x01" + bytes(data[_JOURNAL_BYTES.stop :]))
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(_LONGEST_VALUE, self._left))
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA cell_size_check=ON")
        connection.set_progress_handler(self._give_up, 1000)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def _give_up(self) -> bool:
        self._work -= 1
        return self._work < 0

    def _has(self, table: str) -> bool:
        query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
        row = self._connection.execute(query, (table,)).fetchone()
        if row is not None and str(row[0]).lstrip().upper().startswith("CREATE VIRTUAL"):
            raise BadFile("a virtual table, which computes what it holds", f"table {table}")
        return row is not None

    def _readable(self, table: str) -> list[str]:
        """The columns of a table that are there and may be read."""
        given = {}
        for _, name, *_, hidden in self._connection.execute(f"PRAGMA table_xinfo({table})"):
            if hidden in _GENERATED:
                raise BadFile("a generated column, which computes what it holds", f"table {table}, column {name}")
            given[name] = True
        return [name for name in self._columns[table] if name in given]

    def _count(self, row: tuple[Any, ...]) -> None:
        self._left -= _ROW_BYTES + sum(len(value) for value in row if isinstance(value, str | bytes))
        if self._left < 0:
            raise Overstated("the database says more than its bytes can hold", "byte 0")


def _plain(value: Any) -> JSONValue:
    """A column's value as JSON: there is no other way to have bytes in it than as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    known: JSONValue = value  # SQLite has None, int, float and str besides
    return known
