"""Fixtures of the tests on a real database."""

from collections.abc import Iterable, Iterator

import pytest
from django.conf import settings
from django.db import connection

from traces.models import RetentionPass
from traces.runs import services
from traces.search import documents


@pytest.fixture(scope="session", autouse=True)
def _find_interface_files_on_request() -> None:
    """Every new test client would list all files of the browser interface first: most of the time of many tests."""
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session", autouse=True)
def _flush_deletes() -> None:
    """Flush by DELETE: PostgreSQL's TRUNCATE rewrites tables and indexes, far slower for a test's few rows."""
    if connection.vendor == "postgresql":
        connection.ops.sql_flush = _delete_statements  # type: ignore[method-assign]  # Django offers no choice


def _delete_statements(style: object, tables: Iterable[str], **options: bool) -> list[str]:
    return [f"DELETE FROM {table}" for table in tables]


@pytest.fixture(autouse=True)
def _allow_deleting_sealed_runs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty the tables of committing tests before the flush, whose row-wise deletes on SQLite sealed runs reject."""
    marker = request.node.get_closest_marker("django_db")
    commits = "transactional_db" in request.fixturenames or bool(marker and marker.kwargs.get("transaction"))
    if not commits:
        yield
        return
    # Request the fixture, so that this one ends before its flush.
    request.getfixturevalue("transactional_db")
    yield
    # Foreign keys are checked at commit, so the order does not matter.
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with services.retention(), connection.cursor() as cursor:
        for table in tables:
            if table.startswith(("traces_", "replay_", "diffing_")) and table != RetentionPass._meta.db_table:
                cursor.execute(f"DELETE FROM {table}")
        documents.clear()
