"""Fixtures of the tests on a real database."""

from collections.abc import Iterator
from functools import cache
from unittest.mock import patch

import pytest
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import TransactionTestCase

from traces.models import RetentionPass
from traces.runs import services
from traces.search import documents


@pytest.fixture(scope="session", autouse=True)
def _find_interface_files_on_request() -> None:
    """Every new test client would list all files of the browser interface first: most of the time of many tests."""
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session", autouse=True)
def _quick_cleaning() -> Iterator[None]:
    """Empty the tables of committing tests in one transaction, which may delete sealed runs, and stay connected.

    Django would truncate each table, which PostgreSQL does by rewriting it, create all content types again, and connect
    anew for each test, which took half of the time of a short one.
    """
    with (
        patch.object(TransactionTestCase, "_fixture_teardown", lambda case: _empty_tables()),
        patch.object(TransactionTestCase, "_should_reload_connections", lambda case: False),
    ):
        yield


def _empty_tables() -> None:
    statements = [f"DELETE FROM {table}" for table in _tables()]
    # One round trip. SQLite has none, and executes only one statement at a time.
    if connection.vendor == "postgresql":
        statements = ["; ".join(statements)]
    # Foreign keys are checked at commit, so the order does not matter.
    with services.retention(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        documents.clear()


@cache
def _tables() -> list[str]:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    # The first follows from the code, and the second permits this pass until it ends.
    kept = {ContentType._meta.db_table, RetentionPass._meta.db_table}
    return sorted(set(names) - kept)
