"""Fixtures of the tests with real client libraries."""

from collections.abc import Iterator

import pytest

from tests.clients.model_server import ModelServer, model_server
from tests.support.command_line import Shell, WarmShell


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="session")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    """Return the command with a store of its own."""
    shell = WarmShell(Shell(tmp_path_factory.mktemp("home")))
    yield shell
    shell.close()
