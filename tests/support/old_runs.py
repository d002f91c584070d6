"""Runs that arrived long ago, in the database of a server in embedded mode."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path


def age_runs(home: Path, app: str, days: int) -> None:
    """Move the arrival of an app's runs into the past, which the server itself never does."""
    arrival = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%d %H:%M:%S")
    with closing(sqlite3.connect(home / "forkpoint.sqlite3", timeout=30, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'traces_run'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE traces_run SET created_at = ? WHERE app = ?", (arrival, app))
        for _, definition in triggers:
            connection.execute(definition)
        connection.execute("COMMIT")
