"""Agents with the SDK alone, beside a server of both distributions."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from django.conf import settings

from tests.integration.distributions.conftest import SDK, SERVER, Distributions, Environment
from tests.services.server import Server
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.once
BY_HAND = """
import sys, forkpoint
forkpoint.init(app="desk", url=sys.argv[1])
with forkpoint.recorder.run("by hand", input="Where is my order?"):
    with forkpoint.recorder.tool("get_order", {"id": 7}, call_id="c1") as tool:
        tool.output = "arrived"
    forkpoint.recorder.output("It arrived.").record()
assert forkpoint.flush(30), forkpoint.stats()
"""
# `forkpoint record` starts the recorder, so the program only uses it.
RECORDED = BY_HAND.replace('forkpoint.init(app="desk", url=sys.argv[1])\n', "").replace("by hand", "recorded")


@pytest.fixture(scope="module")
def agent(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with the SDK and nothing else."""
    environment = Environment(tmp_path_factory.mktemp("agent") / "venv")
    environment.install(distributions.wheel(SDK))
    return environment


@pytest.fixture(scope="module")
def complete(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with both distributions and their dependencies."""
    environment = Environment(tmp_path_factory.mktemp("complete") / "venv")
    environment.install(distributions.wheel(SDK), distributions.wheel(SERVER))
    environment.add_dependencies()
    return environment


@pytest.fixture(scope="module")
def server(complete: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("server") / "home"
    process = Server(home, "--no-demo", env={"PYTHONPATH": ""}, program=(complete.forkpoint,))
    process.start()
    yield process
    process.stop()


def run(folder: Path, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("FORKPOINT_", "PYTHON"))}
    return subprocess.run(
        command,
        cwd=folder,
        env={**inherited, "FORKPOINT_HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=patience_s(60),
        check=False,
    )


def stored_run(server: Server, name: str) -> Any:
    """Wait until the server shows a complete run with this name, and return it."""

    def find() -> Any:
        with urlopen(f"{server.url}/api/v1/runs", timeout=patience_s(10)) as response:
            runs = json.load(response)["runs"]
        return next((run for run in runs if run["name"] == name and run["status"] == "completed"), None)

    return wait_until(find, 20)


def test_sdk_alone_records_to_a_server(agent: Environment, server: Server, tmp_path: Path) -> None:
    process = run(tmp_path, agent.python, "-c", BY_HAND, server.url)
    assert (process.returncode, process.stderr) == (0, "")
    recorded = stored_run(server, "by hand")
    assert (recorded["app"], recorded["steps"]) == ("desk", 2)


def test_command_of_the_sdk_alone_records_a_program(agent: Environment, server: Server, tmp_path: Path) -> None:
    options = ("--app", "billing", "--url", server.url)
    process = run(tmp_path, agent.forkpoint, "record", *options, "--", agent.python, "-c", RECORDED)
    assert (process.returncode, process.stderr) == (0, "")
    assert stored_run(server, "recorded")["app"] == "billing"


def test_command_of_the_sdk_alone_names_the_server_for_others(agent: Environment, tmp_path: Path) -> None:
    process = run(tmp_path, agent.forkpoint, "serve")
    assert (process.returncode, process.stdout) == (2, "")
    assert "install the distribution forkpoint-server" in process.stderr
    assert run(tmp_path, agent.forkpoint, "--version").stdout == f"forkpoint {settings.VERSION}\n"


def test_server_adds_its_commands(complete: Environment, tmp_path: Path) -> None:
    versions = f"forkpoint {settings.VERSION}\nforkpoint-server {settings.VERSION}\n"
    assert run(tmp_path, complete.forkpoint, "--version").stdout == versions
    commands = run(tmp_path, complete.forkpoint, "--help").stdout
    assert "  record " in commands
    assert "  serve " in commands


def test_server_serves_its_interface(server: Server) -> None:
    with urlopen(server.url, timeout=patience_s(10)) as response:
        assert b'<div id="root">' in response.read()


def test_each_can_be_uninstalled_without_the_other(distributions: Distributions, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(distributions.wheel(SDK), distributions.wheel(SERVER))
    environment.uninstall("forkpoint-server")
    assert run(tmp_path, environment.forkpoint, "record", "--help").returncode == 0
    assert not list(environment.packages.glob("cockpit"))
    environment.install(distributions.wheel(SERVER))
    environment.uninstall("forkpoint")
    assert not environment.forkpoint.exists()
    assert not list(environment.packages.glob("forkpoint"))
    assert (environment.packages / "cockpit/frontend/index.html").exists()
