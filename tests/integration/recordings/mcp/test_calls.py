"""MCP through the gateway: real clients of both generations, and a real server that counts what it runs."""

import json
import re
from pathlib import Path

import pytest

from tests.clients.model_server import ModelServer
from tests.integration.recordings.mcp.conftest import python
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_runs import GatewaySession, record, rerun, run_of
from tests.support.mcp_agents import HTTP_AGENT, stdio_agent, talking
from tests.support.mcp_desks import Desk, desk_command


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


def test_tool_of_another_server_is_another_tool(server: Server, desk: Desk) -> None:
    interpreter = python("mcp-2", has_sdk=False)
    run = run_of(record(server, HTTP_AGENT, "7", python=interpreter))
    calls = desk.calls()
    again = rerun(server, run, HTTP_AGENT.replace("/mcp/desk", "/mcp/branch"), "7", python=interpreter)
    assert (again.returncode, desk.calls()) == (5, calls)
    assert "this call of lookup is not in the recording" in again.stderr


def shim_command(log: Path, preamble: str = "") -> list[str]:
    """Return the command of a server on standard streams behind the shim; `preamble` is code that runs first."""
    return [*COMMAND, "mcp-shim", "--name", "desk", "--", *desk_command(log, preamble=preamble)]


def test_server_on_standard_streams_is_started_only_for_a_call_that_may_run(server: Server, tmp_path: Path) -> None:
    desk = Desk("", tmp_path / "log")
    started = tmp_path / "started"
    note = f"import pathlib; pathlib.Path({str(started)!r}).open('a').write('1'); "
    agent = stdio_agent(shim_command(desk.log, preamble=note))
    interpreter = python("mcp-2", has_sdk=False, transport="stdio")
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


def test_recorded_notifications_are_played_back(server: Server, desk: Desk) -> None:
    """Also where the call has another token than in the recording. The other transports: `test_server_questions`."""
    agent, interpreter = talking(HTTP_AGENT), python("mcp-2", has_sdk=False)
    first = record(server, agent, "7", "slow", python=interpreter)
    lines = ["progress: 1.0 2.0 searching", "progress: 2.0 2.0 found it", "log: found late"]
    assert (first.returncode, first.stdout.splitlines()[:3]) == (0, lines), first.stderr
    run = run_of(first)
    calls = desk.calls()
    again = rerun(server, run, agent, "slow", python=interpreter)
    assert again.stdout.splitlines()[:3] == lines, again.stderr
    assert desk.calls() == calls
    assert "lookup: 1 exact" in again.stderr
