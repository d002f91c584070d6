"""Fixtures and options of all tests."""

import gc
import zlib
from collections.abc import Iterator
from typing import Final

import hypothesis
import pytest
from django.conf import settings
from django.db import connection

# As in the command line.
_OBJECTS_PER_COLLECTION: Final = 50_000

# No deadline, because durations depend on the machine. Always the same examples, so that a failure is caused by the
# change at hand. `--hypothesis-profile nightly` runs more and different examples each time.
hypothesis.settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("nightly", max_examples=2000, deadline=None)
hypothesis.settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "own_store: uses its own SQLite store in every shape; runs once")
    config.addinivalue_line("markers", "once: independent of the shape; runs embedded")
    config.addinivalue_line("markers", "divided: about no difference between the shapes; half of the tests run in each")
    config.addinivalue_line("markers", "framework: needs an agent framework in an environment of its own")
    config.addinivalue_line("markers", "own_services: uses its own PostgreSQL and Redis; runs distributed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run tests of the semantic extra only with `--semantic`, and tests with own stores in one shape only."""
    shape = config.getoption("--shape")
    excluded_markers = set() if config.getoption("--semantic") else {"semantic"}
    excluded_markers |= {"own_store", "once"} if shape == "distributed" else {"own_services"}
    excluded_items = {item for item in items if any(item.get_closest_marker(name) for name in excluded_markers)}
    if config.getoption("--divide"):
        divided = (item for item in items if item.get_closest_marker("divided"))
        excluded_items |= {item for item in divided if _shape_of(item) != shape}
    config.hook.pytest_deselected(items=sorted(excluded_items, key=items.index))
    items[:] = [item for item in items if item not in excluded_items]


def _shape_of(item: pytest.Item) -> str:
    """Return the shape that runs a divided test: by its name, so that no change of other tests moves it."""
    return ("embedded", "distributed")[zlib.crc32(item.nodeid.encode()) % 2]


def pytest_collection_finish() -> None:
    """Search only for the garbage of tests: all modules and tests are imported now, and stay."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    gc.enable()


def _nothing() -> None:
    """Take the place of a fixture that pytest-django runs around each test, for what no test uses."""


# Those fixtures took a third of the time of a short test, and most tests are short.
_django_setup_unittest = pytest.fixture(scope="session", autouse=True)(_nothing)
_dj_autoclear_mailbox = pytest.fixture(scope="session", autouse=True)(_nothing)
_django_clear_site_cache = pytest.fixture(scope="session", autouse=True)(_nothing)
_django_isolate_apps = pytest.fixture(scope="session", autouse=True)(_nothing)
_django_set_urlconf = pytest.fixture(scope="session", autouse=True)(_nothing)
_live_server_helper = pytest.fixture(scope="session", autouse=True)(_nothing)
_template_string_if_invalid_marker = pytest.fixture(scope="session", autouse=True)(_nothing)


@pytest.fixture(scope="session", autouse=True)
def _without_login() -> None:
    """Require no login in either shape, as embedded on loopback. The access tests change this."""
    settings.LOGIN_REQUIRED = False


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Run a Celery worker that sees the test's commits: in threads, or distributed in its own process."""
    # This module needs Django, which is set up after conftest is loaded.
    from tests.services.workers import running_worker

    with running_worker():
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Close connections of threads after each task, because PostgreSQL cannot drop a database in use."""
    if connection.vendor == "postgresql":
        connection.settings_dict["CONN_MAX_AGE"] = 0
