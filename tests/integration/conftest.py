"""Shared by the tests on a real database."""

from collections.abc import Iterator

import pytest
from django.db import connection

from traces import services


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
    with services.retention(), connection.cursor() as cursor:
        for table in ("edge", "step", "runtag", "run", "artifact"):
            cursor.execute(f"DELETE FROM traces_{table}")
