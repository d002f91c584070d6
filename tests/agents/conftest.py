"""A model server, and a Forkpoint server in front of it."""

from collections.abc import Iterator

import pytest

from tests.clients.model_server import ModelServer, model_server
from tests.services.server import Server


@pytest.fixture(scope="package")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="package")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "of the server")
    addresses = {
        "OPENAI_BASE_URL": f"{models.url}/v1",
        "ANTHROPIC_BASE_URL": models.url,
        "GOOGLE_GEMINI_BASE_URL": models.url,
    }
    variables = {"FORKPOINT_QUIET_S": "1", **keys, **addresses}
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()
