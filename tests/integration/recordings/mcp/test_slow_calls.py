"""Calls of MCP servers that clients cancel, and those whose result comes in another stream than their request's."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.model_server import ModelServer
from tests.integration.recordings.mcp.conftest import python
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_runs import GatewaySession, record, rerun, run_of
from tests.support.mcp_agents import HTTP_AGENT, stdio_agent, talking
from tests.support.mcp_desks import Desk, desk_command, running_desk

_PROGRAM = "slow_mcp_server"
# Its client gives a call up after a second.
_CALL = 'await session.call_tool("lookup", {"order_id": order}, progress_callback=note)'


def impatient(agent: str) -> str:
    agent = talking(agent)
    assert _CALL in agent
    return agent.replace(_CALL, f"await asyncio.wait_for({_CALL.removeprefix('await ')}, 1)")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with running_desk(tmp_path_factory.mktemp("desk") / "log", _PROGRAM) as desk:
        yield desk


def test_result_in_another_stream_is_that_of_its_call(server: Server, desk: Desk, models: ModelServer) -> None:
    agent, client = talking(HTTP_AGENT), python("mcp-2", has_sdk=False)
    first = record(server, agent, "7", "later", "8", python=client)
    *lines, results = first.stdout.splitlines()
    expected = [f"order {order} is here" for order in ("7", "later", "8")]
    assert (first.returncode, json.loads(results)[1:]) == (0, expected), first.stderr
    assert "progress: 2.0 2.0 found it" in lines
    calls, requests = desk.calls(), len(models.requests)
    again = rerun(server, run_of(first), agent, "7", "later", "8", python=client)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert "lookup: 3 exact" in again.stderr
    assert (desk.calls(), len(models.requests)) == (calls, requests)
    # The gateway reads on as the client would.
    options = ["--allow-tool", "lookup", "--live"]
    live = rerun(server, run_of(first), agent, "later on", options=options, python=client)
    assert (live.returncode, json.loads(live.stdout.splitlines()[-1])[1]) == (0, "order later on is here"), live.stderr
    assert desk.calls() == calls + 1


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_cancelled_call_waits_until_it_is_cancelled_again(
    server: Server, desk: Desk, models: ModelServer, tmp_path: Path, transport: str
) -> None:
    shim = [*COMMAND, "mcp-shim", "--name", "desk", "--", *desk_command(tmp_path / "log", program=_PROGRAM)]
    desk = desk if transport == "http" else Desk("", tmp_path / "log")
    agent = impatient(HTTP_AGENT if transport == "http" else stdio_agent(shim))
    client = python("mcp-2", has_sdk=False, transport=transport)
    first = record(server, agent, "7", "hang", "8", python=client)
    results = json.loads(first.stdout.splitlines()[-1])
    assert (first.returncode, results[2]) == (0, "TimeoutError: "), first.stderr
    steps = GatewaySession(server, "", run_of(first)).steps(6)
    errors = [step["error"] for step in steps if step["tool_name"] == "lookup"]
    assert errors == ["", "CancelledError: the client cancelled the request", ""]
    calls, requests = desk.calls(), len(models.requests)
    again = rerun(server, run_of(first), agent, "7", "hang", "8", python=client)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert "lookup: 3 exact" in again.stderr
    assert (desk.calls(), len(models.requests)) == (calls, requests)
