"""A server, a model server, and runners of real agents."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.model_server import ModelServer, model_server
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_agents import AGENTS, ALLOW_TOOLS
from tests.support.gateway_runs import get, record, run_of
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

StartRunner = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {
        "FORKPOINT_QUIET_S": "1",
        "FORKPOINT_TAKEOVER_S": "3",
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": f"{models.url}/v1",
    }
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    run = run_of(record(server, AGENTS["chat"], "plain"))
    wait_until(lambda: get(server, f"/runs/{run}")["sealed"], 30)
    return run


@pytest.fixture
def start_runner(server: Server, tmp_path: Path) -> Iterator[StartRunner]:
    """Start a runner of the app “desk” and wait until it is online."""
    runners: list[subprocess.Popen[str]] = []

    def start(
        program: str, *arguments: str, options: tuple[str, ...] = (), allows_tools: bool = True
    ) -> "subprocess.Popen[str]":
        script = tmp_path / f"agent{len(runners)}.py"
        script.write_text(program)
        names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        # The recorded agent has plain tools.
        consent = ALLOW_TOOLS if allows_tools else []
        command = [*COMMAND, "runner", "--app", "desk", "--url", server.url, *consent, *options, "--"]
        with (tmp_path / f"runner{len(runners)}.log").open("w") as log:
            process = subprocess.Popen(
                [*command, sys.executable, str(script), *arguments], env=environment, stderr=log, text=True
            )
        runners.append(process)
        count = sum(item.poll() is None for item in runners)
        wait_until(lambda: len(online(server)) >= count, 30)
        return process

    yield start
    for process in runners:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in runners:
        process.wait(patience_s(30))
    wait_until(lambda: not online(server), 30)


def online(server: Server) -> list[Any]:
    runners = get(server, "/runners?app=desk")["runners"]
    return [runner for runner in runners if runner["state"] == "online"]


def post(server: Server, path: str, body: Any = None) -> Any:
    response = HTTP.post(f"{server.url}/api/v1{path}", json=body, timeout=patience_s(30))
    assert response.status_code < 300, response.text
    return response.json()


def fork(server: Server, run: str, **body: Any) -> str:
    """Start a replay in which the agent runs."""
    return str(post(server, "/replays", {"run": run, "engine": "agent", **body})["id"])


def ended(server: Server, session: str) -> Any:
    """Wait until a session has ended and, if it is complete, is compared."""

    def view() -> Any:
        view = get(server, f"/replays/{session}")
        is_over = view["ended_at"] and (view["diff"] or not view["status"].startswith("completed"))
        return view if is_over else None

    return wait_until(view, 60)


def printed(server: Server, session: str) -> list[tuple[str, str]]:
    return [(line["stream"], line["text"]) for line in get(server, f"/replays/{session}/output")["lines"]]
