"""Processes that start at once on a new store migrate it one after the other, also behind a pooler."""

import threading
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction

from tests.support.patience import patience_s

pytestmark = pytest.mark.django_db(transaction=True)


def _migrate() -> None:
    try:
        call_command("migrate", verbosity=0)
    finally:
        connections.close_all()


def test_migration_waits_for_another_one() -> None:
    database: Any = connection
    thread = threading.Thread(target=_migrate)
    with database.migration_lock():
        thread.start()
        thread.join(1)
        is_waiting = thread.is_alive()
    thread.join(patience_s(30))
    assert (is_waiting, thread.is_alive()) == (True, False)


def test_nothing_outside_of_transactions_is_kept_by_the_connection() -> None:
    """A pooler gives each transaction another connection of PostgreSQL."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no sessions")
    database: Any = connection
    with database.migration_lock(), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        assert cursor.fetchone() == (0,)
    assert _named_cursors() == 0
    with transaction.atomic():
        assert _named_cursors() == 1


def _named_cursors() -> int:
    """Return how many cursors PostgreSQL keeps while a query set is read in chunks."""
    with connection.chunked_cursor() as chunks:
        chunks.execute("SELECT generate_series(1, 10)")
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors WHERE name LIKE %s", ["_django_curs_%"])
            ((count,),) = cursor.fetchall()
    return int(count)
