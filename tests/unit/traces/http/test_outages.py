"""What a client learns of a database that cannot work."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from django.db import OperationalError

from traces.http.outages import name_outage


def outage_of(database: sqlite3.Connection) -> str:
    """Fill a table until the database refuses, and name why, as Django raises it."""
    with pytest.raises(sqlite3.OperationalError) as problem:
        database.execute("INSERT INTO t VALUES (zeroblob(1000000))")
    error = OperationalError(str(problem.value))
    error.__cause__ = problem.value
    return name_outage(error)


def test_full_disk_is_named(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE t (data)")
    connection.execute("PRAGMA max_page_count = 10")
    assert outage_of(connection) == "the disk of the server's database is full"


def test_other_writer_is_no_failure(tmp_path: Path) -> None:
    open_file = partial(sqlite3.connect, tmp_path / "db", timeout=0, isolation_level=None)
    with closing(open_file()) as writer, closing(open_file()) as other:
        writer.execute("CREATE TABLE t (data)")
        writer.execute("BEGIN IMMEDIATE")
        assert outage_of(other) == "the database did not respond"
