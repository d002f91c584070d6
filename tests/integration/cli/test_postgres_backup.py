"""A backup of a store in PostgreSQL."""

import os
from pathlib import Path

import psycopg
import pytest

from cockpit.demo.agent.scenarios import RECORDINGS, REFUND
from tests.faults.deployment import database_on
from tests.support.command_line import Shell

pytestmark = pytest.mark.own_services
FAILED = RECORDINGS / f"{REFUND}.jsonl"


def test_restored_database_has_the_same_rows(tmp_path: Path) -> None:
    old, used, new = (database_on(os.environ["DATABASE_URL"]) for _ in range(3))
    source, home, backup = Shell(tmp_path / "source"), Shell(tmp_path / "home"), tmp_path / "store.tar"
    others = [path for path in RECORDINGS.glob("*.jsonl") if path != FAILED]
    runs = source("import", *others, "--json", DATABASE_URL=old).json["runs"]
    source("rename", runs[0]["id"], "title", DATABASE_URL=old)
    source("delete", runs[1]["id"], DATABASE_URL=old)
    source("token", "create", "ci", DATABASE_URL=old)
    created = source("backup", "create", backup, "--json", DATABASE_URL=old)
    assert created.code == 0, created.err
    assert created.json["runs"] == len(runs)
    # A store without runs may have other rows.
    home("token", "create", "other", DATABASE_URL=used)
    # One of the homes does not exist yet, and gets no key of its own.
    key = {"FORKPOINT_SECRET_KEY": (tmp_path / "source" / "secret_key").read_text()}
    for url, shell, keys in ((used, home, {}), (new, Shell(tmp_path / "new"), key)):
        restored = shell("backup", "restore", backup, DATABASE_URL=url, **keys)
        assert restored.code == 0, restored.err
        assert rows(url) == rows(old)
    # New rows get new ids, and sealed runs are protected.
    assert home("import", FAILED, "--json", DATABASE_URL=new).json["runs"][0]["revision"] == 1
    with psycopg.connect(new) as connection, pytest.raises(psycopg.IntegrityError, match="sealed"):
        connection.execute("UPDATE traces_step SET name = 'x'")
    assert "contains 9 runs" in home("backup", "restore", backup, DATABASE_URL=new).err
    other = Shell(tmp_path / "embedded")("backup", "restore", backup)
    assert (other.code, "store in PostgreSQL, and this one is in SQLite" in other.err) == (2, True)


def rows(url: str) -> dict[str, object]:
    """Return the rows of every table, but not when which migration was applied."""
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT relname FROM pg_stat_user_tables WHERE relname <> 'django_migrations'")
        return {
            name: sorted(connection.execute(f"SELECT t::text FROM {name} AS t".encode()).fetchall())
            for (name,) in names.fetchall()
        }
