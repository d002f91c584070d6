"""MCP through the gateway: real clients of both generations, and a real server that counts what it runs."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.environments import ROOT, environment
from tests.clients.model_server import ModelServer, model_server
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_runs import GatewaySession, Python, record, rerun, run_of
from tests.support.mcp_agents import HTTP_AGENT, stdio_agent
from tests.support.patience import wait_until

pytestmark = pytest.mark.own_store


@dataclass(frozen=True)
class Desk:
    """A running MCP server, and the file with a line for each call of its tool."""

    url: str
    log: Path

    def calls(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("desk") / "log"
    command = [sys.executable, "-m", "tests.support.servers.mcp_server", str(port), str(log)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        wait_until(lambda: listens(port), 30)
        yield Desk(f"http://127.0.0.1:{port}/mcp", log)
        process.terminate()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(desk: Desk, models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {
        "FORKPOINT_QUIET_S": "1",
        "FORKPOINT_MCP_SERVERS": json.dumps({"desk": {"url": desk.url}}),
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": f"{models.url}/v1",
    }
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


def python(generation: str, *, has_sdk: bool) -> Python:
    """Return an interpreter with a client of this generation. Without the SDK it stands for any other language."""
    path = sys.executable if generation == "mcp-2" else str(environment(generation))
    return [path] if has_sdk else [path, "-I"]


@pytest.mark.parametrize(("generation", "has_sdk"), [("mcp-2", False), ("mcp-1", False), ("mcp-2", True)])
def test_calls_are_recorded_and_not_made_again(
    server: Server, desk: Desk, models: ModelServer, generation: str, has_sdk: bool
) -> None:
    interpreter = python(generation, has_sdk=has_sdk)
    first = record(server, HTTP_AGENT, "7", "none", python=interpreter)
    assert first.returncode == 0, first.stderr
    tools, found, failure = json.loads(first.stdout)
    assert (tools, json.loads(found)["id"], "Error executing tool lookup" in failure) == (["lookup"], "7", True)
    run = run_of(first)
    steps = [step for step in GatewaySession(server, "", run).steps(5) if step["tool_name"] == "lookup"]
    assert [(step["input"], step["status"]) for step in steps] == [
        ({"order_id": "7"}, "ok"),
        ({"order_id": "none"}, "error"),
    ]
    calls, requests = desk.calls(), len(models.requests)
    again = rerun(server, run, HTTP_AGENT, "7", "none", python=interpreter)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert "lookup: 2 exact" in again.stderr
    assert (desk.calls(), len(models.requests)) == (calls, requests)


@pytest.mark.parametrize("has_sdk", [False, True])
def test_other_call_runs_only_if_it_is_allowed(server: Server, desk: Desk, has_sdk: bool) -> None:
    interpreter = python("mcp-2", has_sdk=has_sdk)
    run = run_of(record(server, HTTP_AGENT, "7", python=interpreter))
    calls = desk.calls()
    refused = rerun(server, run, HTTP_AGENT, "8", python=interpreter)
    assert (refused.returncode, desk.calls()) == (5, calls)
    assert "lookup: 1 refused" in refused.stderr
    assert "allow it with --allow-tool lookup" in refused.stderr
    options = ["--allow-tool", "lookup", "--live"]
    allowed = rerun(server, run, HTTP_AGENT, "8", options=options, python=interpreter)
    assert (allowed.returncode, desk.calls()) == (0, calls + 1), allowed.stderr
    assert json.loads(json.loads(allowed.stdout)[1])["id"] == "8"
    # Only the outer layer asked.
    assert "lookup: 1 not recorded, so run" in allowed.stderr
    fork = re.findall(r"Fork: \S+/runs/(\S+)", allowed.stderr)[0]
    steps, recorded_steps = (GatewaySession(server, "", id).steps(4) for id in (fork, run))
    assert [step["name"] for step in steps] == [step["name"] for step in recorded_steps]
    reasons = {step["name"]: (step["label"], step["reason"]) for step in steps}
    assert reasons["mcp.initialize"] == reasons["mcp.tools/list"] == ("exact", "source_output_reused")
    assert reasons["lookup"] == ("simulated", "agent_ran")


def test_server_on_standard_streams_is_started_only_for_a_call_that_may_run(server: Server, tmp_path: Path) -> None:
    desk = Desk("", tmp_path / "log")
    started = tmp_path / "started"
    program = f"import pathlib, runpy, sys; pathlib.Path({str(started)!r}).open('a').write('1'); "
    program += f"sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['desk', '0', {str(desk.log)!r}]; "
    program += "runpy.run_module('tests.support.servers.mcp_server', run_name='__main__')"
    agent = stdio_agent([*COMMAND, "mcp-shim", "--name", "desk", "--", sys.executable, "-c", program])
    interpreter = python("mcp-2", has_sdk=False)
    first = record(server, agent, "7", "none", python=interpreter)
    assert (first.returncode, desk.calls(), started.read_text()) == (0, 2, "1"), first.stderr
    run = run_of(first)
    names = [step["name"] for step in GatewaySession(server, "", run).steps(5)]
    assert names == ["mcp.initialize", "mcp.tools/list", "lookup", "lookup", "m1"]
    again = rerun(server, run, agent, "7", "none", python=interpreter)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert (desk.calls(), started.read_text()) == (2, "1")
    refused = rerun(server, run, agent, "8", python=interpreter)
    assert (refused.returncode, started.read_text()) == (5, "1")
    options = ["--allow-tool", "lookup", "--live"]
    allowed = rerun(server, run, agent, "8", options=options, python=interpreter)
    assert (allowed.returncode, desk.calls(), started.read_text()) == (0, 3, "11"), allowed.stderr
    assert json.loads(json.loads(allowed.stdout)[1])["id"] == "8"


def test_unknown_server_is_named(server: Server) -> None:
    result = record(server, HTTP_AGENT.replace("/mcp/desk", "/mcp/other"), "7", python=python("mcp-2", has_sdk=False))
    assert result.returncode != 0
    assert "FORKPOINT_MCP_SERVERS has no server “other”" in result.stderr
