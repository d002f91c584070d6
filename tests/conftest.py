"""Shared by all tests."""

from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django import Settings


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of the semantic extra run where it is installed, in a run of their own."""
    if not config.getoption("--semantic"):
        semantic = [item for item in items if item.get_closest_marker("semantic")]
        config.hook.pytest_deselected(items=semantic)
        items[:] = [item for item in items if item not in semantic]


@pytest.fixture(autouse=True)
def _nobody_logs_in(settings: Settings) -> None:
    """As embedded on loopback, in both shapes; the tests of access ask for more."""
    settings.LOGIN_REQUIRED = False


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """A real Celery worker that sees what the test commits: in threads, or distributed in a process of its own."""
    from tests.services.workers import running_worker  # needs Django, which conftest is loaded before

    with running_worker():
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Threads close their connection after each piece of work: PostgreSQL drops no database that is in use."""
    if connection.vendor == "postgresql":
        connection.settings_dict["CONN_MAX_AGE"] = 0
