"""A server as users run it, and the model that the agents call."""

from collections.abc import Iterator

import pytest

from tests.clients.tracers.traced_agents import Tracing
from tests.clients.tracers.weather_model import weather_model
from tests.services.server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "home", env={"FORKPOINT_QUIET_S": "1"})
    server.start()
    yield server
    server.stop()


@pytest.fixture
def tracing(server: Server) -> Iterator[Tracing]:
    with weather_model() as model:
        yield Tracing(server_url=server.url, model=model)
