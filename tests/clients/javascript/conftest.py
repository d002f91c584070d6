"""A server as users run it, and the model that the agents call."""

from collections.abc import Iterator

import pytest

from tests.clients.javascript.traced_agents import NodeAgents
from tests.clients.model_server import model_server
from tests.services.server import Server


@pytest.fixture(scope="session")
def recording_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env={"FORKPOINT_QUIET_S": "1"})
    server.start()
    yield server
    server.stop()


@pytest.fixture
def agents(recording_server: Server) -> Iterator[NodeAgents]:
    with model_server() as model:
        yield NodeAgents(server_url=recording_server.url, model=model)
