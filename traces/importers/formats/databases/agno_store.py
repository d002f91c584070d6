"""Agno's sessions in SQLite (`SqliteDb`, in version 1 `SqliteStorage`), in tables of any name."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record, Source
from traces.importers.files.sqlite_file import Database

# Columns of a table of sessions; `memory` has the runs in version 1.
_MARK: Final = "session_data"
_COLUMNS: Final = frozenset({"session_id", _MARK})
_RUNS: Final = frozenset({"runs", "memory"})
_ANY_NAME: Final = r"\w+"


def is_database(sample: Sample) -> bool:
    return sqlite_file.has_column(sample.head, _ANY_NAME, _MARK)


def documents(source: Source) -> list[Record]:
    """Return the sessions with runs. Raises `BadFile` for a database without any."""
    columns = {
        table: names
        for table, names in sqlite_file.all_columns(source.data).items()
        if {*names} >= _COLUMNS and not _RUNS.isdisjoint(names)
    }
    if not columns:
        raise BadFile("a database of Agno needs a table with `session_id`, `session_data` and `runs`", "byte 0")
    database = Database(source.data, columns)
    try:
        records = [record for table in columns for record in _read(database, table)]
    finally:
        database.close()
    if not records:
        raise BadFile("this database of Agno has no sessions with runs", f"table {next(iter(columns))}")
    return records


def _read(database: Database, table: str) -> Iterator[Record]:
    for row in database.rows(table, "ORDER BY created_at, session_id"):
        session: JSONObject = {name: parse_embedded(value) for name, value in row.items() if value is not None}
        if session.get("runs") or session.get("memory"):
            yield Record(value=session, location=f"session {as_text(row.get('session_id'))}")
