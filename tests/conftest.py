"""Shared by all tests."""

from collections.abc import Iterator

import hypothesis
import pytest
from django.db import connection
from pytest_django import Settings

# No deadline: how long an example takes says more about the machine. The same examples every time: what fails was
# broken by the change at hand. `--hypothesis-profile nightly` looks further, elsewhere each time.
hypothesis.settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True)
hypothesis.settings.register_profile("nightly", max_examples=2000, deadline=None)
hypothesis.settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "own_store: works on a SQLite store of its own, whatever the shape; runs once")
    config.addinivalue_line("markers", "once: the same whatever the shape; runs embedded")
    config.addinivalue_line("markers", "own_services: works on PostgreSQL and Redis of its own; runs distributed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of the semantic extra run where it is installed, those with stores of their own in one shape only."""
    left_out = set() if config.getoption("--semantic") else {"semantic"}
    left_out |= {"own_store", "once"} if config.getoption("--shape") == "distributed" else {"own_services"}
    deselected = [item for item in items if any(item.get_closest_marker(name) for name in left_out)]
    config.hook.pytest_deselected(items=deselected)
    items[:] = [item for item in items if item not in deselected]


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
