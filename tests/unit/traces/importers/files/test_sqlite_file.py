"""SQLite databases that describe more content than they contain."""

import sqlite3
import tracemalloc
from collections.abc import Sequence
from contextlib import closing

import pytest

from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import all_rows
from traces.importers.formats.frameworks import krabs_db

SESSIONS = "CREATE TABLE sessions (id TEXT, model TEXT, created_at INTEGER)"
MESSAGES = "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT)"
ROWS = ("INSERT INTO sessions VALUES ('s', 'm', 0)", "INSERT INTO messages VALUES (1, 's', 'user', 'Hi')")
GENERATED_COLUMN = (
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT,"
    " content TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))))"
)
# Rows older than a column have its default value, which the file contains once.
LARGE_DEFAULT = (
    SESSIONS,
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT)",
    ROWS[0],
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)"
    " INSERT INTO messages SELECT i, 's', 'user' FROM n",
    f"ALTER TABLE messages ADD COLUMN content TEXT DEFAULT '{'x' * 200_000}'",
)


def database(*statements: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        return bytes(connection.serialize())


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (
            (SESSIONS, GENERATED_COLUMN, ROWS[0], "INSERT INTO messages(id, session_id, role) VALUES (1, 's', 'user')"),
            "generated",
        ),
        (LARGE_DEFAULT, "than its bytes"),
        ((SESSIONS, "CREATE VIRTUAL TABLE messages USING fts5(session_id, role, content)", ROWS[0]), "virtual table"),
        ((SESSIONS, "CREATE VIEW messages AS SELECT 1"), "no known format has an SQLite database"),
    ],
)
def test_computed_content_is_refused(statements: Sequence[str], problem: str) -> None:
    data = database(*statements)
    assert len(data) < 2_000_000
    tracemalloc.start()
    try:
        with pytest.raises(BadFile, match=problem):
            list(krabs_db.parse(Source(name="krabs.db", data=data)))
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()


def test_plain_databases_are_read() -> None:
    [run] = krabs_db.parse(Source(name="krabs.db", data=database(SESSIONS, MESSAGES, *ROWS)))
    assert (run.external_id, len(run.steps) > 0) == ("s", True)


def test_tables_may_have_the_names_of_keywords() -> None:
    data = database('CREATE TABLE "order" ("group" TEXT)', """INSERT INTO "order" VALUES ('a')""")
    assert [*all_rows(data)] == [("order", {"group": "a"})]
