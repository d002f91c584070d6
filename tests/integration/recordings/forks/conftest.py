"""One server and one provider for the forks of running agents."""

import json
from collections.abc import Iterator

import pytest

from tests.clients.model_server import ModelServer, model_server
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS
from tests.support.gateway_runs import get, record, run_of
from tests.support.patience import wait_until


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder: the server has a store of its own."""
    item.add_marker("own_store")


@pytest.fixture(scope="package")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="package")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {
        "FORKPOINT_QUIET_S": "1",
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": f"{models.url}/v1",
        "ANTHROPIC_API_KEY": "sk-2",
        "ANTHROPIC_BASE_URL": models.url,
        "GEMINI_API_KEY": "sk-3",
        "SECOND_KEY": "sk-second",
        "FORKPOINT_PROVIDERS": json.dumps(
            {
                "second-openai": {
                    "protocol": "openai",
                    "base_url": f"{models.url}/second",
                    "api_key_env": "SECOND_KEY",
                },
                "my-claude": {"protocol": "anthropic", "base_url": models.url},
            }
        ),
        "GOOGLE_GEMINI_BASE_URL": models.url,
    }
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="package")
def run(server: Server) -> str:
    run = run_of(record(server, AGENTS["chat"], "plain"))
    wait_until(lambda: get(server, f"/runs/{run}")["sealed"], 30)
    return run
