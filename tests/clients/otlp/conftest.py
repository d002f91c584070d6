"""A server as users run it, a proxy in front of it, and the model that the agents call."""

from collections.abc import Iterator

import pytest

from tests.clients.model_server import ModelServer
from tests.clients.otlp.traced_runs import Desk
from tests.clients.otlp.wiretap import wiretap
from tests.clients.tracers.traced_agents import Tracing
from tests.services.server import Server
from tests.support.servers.provider_server import ProviderServer


@pytest.fixture(scope="session")
def forkpoint_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "home", env={"FORKPOINT_QUIET_S": "1"})
    server.start()
    yield server
    server.stop()


@pytest.fixture
def desk(forkpoint_server: Server, server: ModelServer) -> Iterator[Desk]:
    tracing = Tracing(
        server_url=forkpoint_server.url, model=ProviderServer(base_url=server.url, respond=lambda _: None)
    )
    with wiretap(forkpoint_server.url) as tap:
        yield Desk(model=server, tap=tap, tracing=tracing)
