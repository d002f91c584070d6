"""Processes that start at once on a new store migrate it one after the other."""

import threading
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections

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
