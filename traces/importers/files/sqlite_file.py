"""SQLite databases from untrusted sources. Pure.

A few bytes of a database can describe values and rows without end. It is therefore opened in memory and read-only,
with limits on the work of all queries, on the length of a value, and on the size of all rows together.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final

from traces.core.json_types import JSONValue
from traces.importers.files.errors import BadFile

MAGIC: Final = b"SQLite format 3\0"
Row = dict[str, JSONValue]
# Header bytes of the journal mode: 2 is write-ahead logging, which in-memory databases do not have.
_JOURNAL_BYTES: Final = slice(18, 20)
_MOST_WORK: Final = 20_000  # thousands of virtual machine steps for all queries
_BYTES_FOR_WORK: Final = 200  # file bytes per thousand additional steps
_LONGEST_VALUE: Final = 64 * 2**20
# A real row takes at least a quarter of its counted bytes in the file.
_AMPLIFICATION: Final = 4
_ALLOWANCE: Final = 2**20
_ROW_BYTES: Final = 16
# Names that may be part of a query.
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COLUMNS: Final = "name FROM pragma_table_info(?)"
# Values of `hidden` in `PRAGMA table_xinfo` for virtual and stored generated columns.
_GENERATED_KINDS: Final = frozenset({2, 3})


def has_column(data: bytes, table: str, column: str) -> bool:
    """Return whether the schema of a database, a text in its file, defines a column of a table."""
    if not data.startswith(MAGIC):
        return False
    definition = rb"CREATE TABLE\s+[\"`\[]?%b[\"`\]]?\s*\((?>(?!CREATE )[^\0]){0,4000}?\b%b\b"
    return re.search(definition % (table.encode(), column.encode()), data) is not None


def has_write_ahead_log(data: bytes) -> bool:
    """Return whether a database is one whose newest content may be in a file beside it."""
    return data[_JOURNAL_BYTES] == b"\x02\x02"


class ImpossibleContent(BadFile):
    """The database describes more content than its bytes can contain."""


class Database:
    """A database in memory. Every method raises `BadFile` if it is damaged or malicious."""

    def __init__(self, data: bytes, columns: dict[str, Sequence[str]]) -> None:
        """Open `data`. Only the given columns of the given tables are read."""
        self._columns = columns
        self._row_budget = _AMPLIFICATION * len(data) + _ALLOWANCE
        self._work_budget = _MOST_WORK + len(data) // _BYTES_FOR_WORK
        self._connection = sqlite3.connect(":memory:")
        try:
            self._open(data)
            self._tables = {table: self._readable_columns(table) for table in columns if self._has(table)}
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            raise BadFile(f"the SQLite database is damaged: {error}", "byte 0") from error
        except BadFile:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def table_names(self) -> list[str]:
        """Return the names of all tables, for error messages."""
        return [str(name) for (name,) in self.select("name FROM sqlite_master WHERE type = 'table' ORDER BY name")]

    def tables(self) -> list[str]:
        """Return those of the wanted tables that the database has."""
        return list(self._tables)

    def __contains__(self, table: str) -> bool:
        return table in self._tables

    def columns(self, table: str) -> list[str]:
        """Return those of the wanted columns that a table has."""
        return self._tables[table]

    def rows(self, table: str, rest: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield the rows of a table as objects; `rest` follows the table's name in the query."""
        names = self._tables[table]
        column_list = ", ".join(f'"{name}"' for name in names)
        for row in self.select(f'{column_list} FROM "{table}" {rest}', values):
            yield {name: _json_value(value) for name, value in zip(names, row, strict=True)}

    def select(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of `SELECT query`. The query must never contain input."""
        try:
            for row in self._connection.execute(f"SELECT {query}", values):
                self._count_row(row)
                yield row
        except sqlite3.Error as error:
            raise BadFile(f"the database cannot be read: {error}", "byte 0") from error

    def _open(self, data: bytes) -> None:
        connection = self._connection
        connection.deserialize(bytes(data[:18]) + b"\x01\x01" + bytes(data[_JOURNAL_BYTES.stop :]))
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(_LONGEST_VALUE, self._row_budget))
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA cell_size_check=ON")
        connection.set_progress_handler(self._exceeds_work, 1000)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def _exceeds_work(self) -> bool:
        self._work_budget -= 1
        return self._work_budget < 0

    def _has(self, table: str) -> bool:
        query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
        row = self._connection.execute(query, (table,)).fetchone()
        if row is not None and str(row[0]).lstrip().upper().startswith("CREATE VIRTUAL"):
            raise BadFile("virtual tables compute their content and cannot be imported", f"table {table}")
        return row is not None

    def _readable_columns(self, table: str) -> list[str]:
        """Return the wanted columns that the table has. Raises `BadFile` for generated columns."""
        present = {}
        for _, name, *_, hidden in self._connection.execute(f'PRAGMA table_xinfo("{table}")'):
            if hidden in _GENERATED_KINDS:
                raise BadFile(
                    "generated columns compute their content and cannot be imported", f"table {table}, column {name}"
                )
            present[name] = True
        return [name for name in self._columns[table] if name in present]

    def _count_row(self, row: tuple[Any, ...]) -> None:
        self._row_budget -= _ROW_BYTES + sum(len(value) for value in row if isinstance(value, str | bytes))
        if self._row_budget < 0:
            raise ImpossibleContent("the database describes more content than its bytes can contain", "byte 0")


def all_rows(data: bytes) -> Iterator[tuple[str, Row]]:
    """Yield all rows of a database with the names of their tables. Raises `BadFile` like `Database`."""
    database = Database(data, all_columns(data))
    try:
        for table in database.tables():
            yield from ((table, row) for row in database.rows(table))
    finally:
        database.close()


def all_columns(data: bytes) -> dict[str, Sequence[str]]:
    """Return the columns of all tables with plain names, without virtual tables and what these store."""
    database = Database(data, {})
    try:
        tables = dict(database.select("name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"))
        virtual = tuple(name for name, sql in tables.items() if str(sql).lstrip().upper().startswith("CREATE VIRTUAL"))
        # Virtual tables store their content in tables whose names begin with theirs.
        names = [name for name in tables if _NAME.fullmatch(name) and not name.startswith(("sqlite_", *virtual))]
        columns = {name: [str(column) for (column,) in database.select(_COLUMNS, (name,))] for name in names}
    finally:
        database.close()
    return {name: [column for column in group if _NAME.fullmatch(column)] for name, group in columns.items()}


def _json_value(value: Any) -> JSONValue:
    """Return a column's value as JSON; bytes become text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # The other types of SQLite are None, int, float and str.
    json_value: JSONValue = value
    return json_value
