"""A model server, a Forkpoint server in front of it, and the agents' environments."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.agents.catalogue import Agent
from tests.agents.desk import Desk
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
        "OLLAMA_HOST": models.url,
    }
    variables = {"FORKPOINT_QUIET_S": "1", **keys, **addresses}
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def commands(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[list[str]]]]:
    """Return the command of each agent that is tested. Their environments are built while others are tested."""
    agents: dict[str, Agent] = {}
    for item in request.session.items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if isinstance(agent := parameters.get("desk"), Agent):
            agents[agent.name] = agent
    with ThreadPoolExecutor(max_workers=1) as builder:
        yield {name: builder.submit(agent.command) for name, agent in agents.items()}
        builder.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def desk(
    request: pytest.FixtureRequest,
    server: Server,
    models: ModelServer,
    commands: dict[str, Future[list[str]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Desk:
    """Return the desk of an agent, which is the parameter."""
    agent: Agent = request.param
    return Desk(agent, commands[agent.name].result(), server, models, tmp_path_factory.mktemp("desk"))
