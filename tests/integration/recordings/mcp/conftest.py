"""A server behind whose gateway is a real MCP server that counts what it runs."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.environments import environment
from tests.clients.model_server import ModelServer, model_server
from tests.services.server import Server
from tests.services.warm_client import mcp_python
from tests.support.gateway_runs import GatewaySession, Python, get, post, record, run_of
from tests.support.mcp_agents import HTTP_AGENT
from tests.support.mcp_desks import Desk, running_desk
from tests.support.patience import wait_until


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder: the server has a store of its own."""
    item.add_marker("own_store")


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with running_desk(tmp_path_factory.mktemp("desk") / "log") as desk:
        yield desk


@pytest.fixture(scope="package")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(desk: Desk, models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    servers = {name: {"url": desk.url} for name in ("desk", "branch")}
    variables = {
        "FORKPOINT_QUIET_S": "1",
        "FORKPOINT_MCP_SERVERS": json.dumps({**servers, "away": {"url": "http://127.0.0.1:9/mcp"}}),
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": f"{models.url}/v1",
    }
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    run = run_of(record(server, HTTP_AGENT, "7", python=python("mcp-2", has_sdk=False)))
    GatewaySession(server, "", run).summary()
    wait_until(lambda: get(server, f"/runs/{run}")["sealed"], 30)
    return run


def open_rerun(server: Server, run: str, **changes: Any) -> Any:
    return post(server, "/api/v1/reruns", {"run": run, "live": True, "ask_tools": ["lookup"], **changes})


def python(generation: str, *, has_sdk: bool, transport: str = "http") -> Python:
    """Return an interpreter with a client of this generation. Without the SDK it stands for any other language."""
    # One that starts its server itself is a process of its own.
    if (generation, has_sdk, transport) == ("mcp-2", False, "http"):
        return mcp_python()
    path = sys.executable if generation == "mcp-2" else str(environment(generation))
    return [path] if has_sdk else [path, "-I"]
