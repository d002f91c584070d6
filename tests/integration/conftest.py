"""Shared by the tests on a real database."""

from collections.abc import Iterable, Iterator

import pytest
from django.db import connection

from traces.models import RetentionPass
from traces.runs import services


@pytest.fixture(scope="session", autouse=True)
def _flush_deletes() -> None:
    """PostgreSQL's TRUNCATE writes each table and index anew: many times what it takes to delete a test's few rows."""
    if connection.vendor == "postgresql":
        connection.ops.sql_flush = _deleting  # type: ignore[method-assign]  # Django offers no choice


def _deleting(style: object, tables: Iterable[str], **how: bool) -> list[str]:
    return [f"DELETE FROM {table}" for table in tables]


@pytest.fixture(autouse=True)
def _sealed_runs_may_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests that commit are followed by a flush, which on SQLite deletes row by row: sealed runs refuse that."""
    marker = request.node.get_closest_marker("django_db")
    commits = "transactional_db" in request.fixturenames or bool(marker and marker.kwargs.get("transaction"))
    if not commits:
        yield
        return
    request.getfixturevalue("transactional_db")  # so that this ends before the flush
    yield
    # Foreign keys are checked at commit, so the order does not matter.
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with services.retention(), connection.cursor() as cursor:
        for table in tables:
            if table.startswith(("traces_", "replay_", "diffing_")) and table != RetentionPass._meta.db_table:
                cursor.execute(f"DELETE FROM {table}")
