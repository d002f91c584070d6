"""MCP servers that ask their client while a call is open: for a model's answer, for consent, for its folders."""

import json
import time
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from tests.clients.model_server import ANSWER, ModelServer
from tests.integration.recordings.mcp.conftest import python
from tests.integration.recordings.mcp.test_calls import shim_command
from tests.services.server import Server
from tests.support.gateway_runs import post, record, rerun, run_of
from tests.support.mcp_agents import HTTP_AGENT, stdio_agent, talking
from tests.support.mcp_desks import CLIENT, Desk, lookup, send
from tests.support.patience import patience_s

LINES = ["progress: 1.0 2.0 asking", "log: almost"]
FRAMEWORK = pytest.mark.framework


@pytest.mark.parametrize(
    ("transport", "generation", "has_sdk"),
    [
        ("http", "mcp-2", False),
        ("stdio", "mcp-1", True),
        pytest.param("http", "mcp-1", True, marks=FRAMEWORK),
        pytest.param("http", "mcp-1", False, marks=FRAMEWORK),
        pytest.param("http", "mcp-2", True, marks=FRAMEWORK),
        pytest.param("stdio", "mcp-1", False, marks=FRAMEWORK),
        pytest.param("stdio", "mcp-2", True, marks=FRAMEWORK),
        pytest.param("stdio", "mcp-2", False, marks=FRAMEWORK),
    ],
)
def test_client_is_asked_as_in_the_recording(
    server: Server, desk: Desk, models: ModelServer, tmp_path: Path, transport: str, generation: str, has_sdk: bool
) -> None:
    desk = desk if transport == "http" else Desk("", tmp_path / "log")
    agent = talking(HTTP_AGENT if transport == "http" else stdio_agent(shim_command(desk.log)))
    interpreter = python(generation, has_sdk=has_sdk, transport=transport)
    first = record(server, agent, "7", "talk", python=interpreter)
    *lines, results = first.stdout.splitlines()
    assert (first.returncode, lines) == (0, LINES), first.stderr
    assert json.loads(results)[2] == f"the client said {ANSWER}, decline, file:///desk"
    run, calls, requests = run_of(first), desk.calls(), len(models.requests)
    again = rerun(server, run, agent, "7", "talk", python=interpreter)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert "2 calls exact\n" in again.stderr
    assert "lookup: 2 exact" in again.stderr
    assert (desk.calls(), len(models.requests)) == (calls, requests)
    # The result follows from what the client said then.
    other = rerun(server, run, agent.replace('"decline"', '"cancel"'), "7", "talk", python=interpreter)
    assert (other.returncode, desk.calls()) == (5, calls)
    assert "result/action is cancel, not decline" in other.stderr
    options = ["--allow-tool", "lookup", "--live"]
    live = rerun(server, run, agent.replace('"decline"', '"cancel"'), "talk", options=options, python=interpreter)
    assert (live.returncode, desk.calls()) == (0, calls + 1), live.stderr
    *lines, results = live.stdout.splitlines()
    assert json.loads(results)[1] == f"the client said {ANSWER}, cancel, file:///desk"


def test_call_waits_for_the_stream_of_questions(server: Server) -> None:
    """A client opens it beside its first calls, and a server loses what it asks before."""
    session = post(server, "/api/v1/gateway/sessions", {"app": "desk"})
    address = f"{server.url}{session['path']}/mcp/desk"
    capabilities = {**CLIENT, "capabilities": {"sampling": {}}}
    client = send(address, "initialize", capabilities).headers["mcp-session-id"]
    headers = {"accept": "application/json, text/event-stream", "mcp-session-id": client}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    httpx2.post(address, json=ready, headers=headers, trust_env=False).raise_for_status()
    responses: list[httpx2.Response] = []
    call = Thread(target=lambda: responses.append(lookup(address, "ask", client)), daemon=True)
    call.start()
    time.sleep(0.3)
    # The server shows that it lives only later.
    with httpx2.stream("GET", address, headers=headers, timeout=patience_s(10), trust_env=False) as events:
        data = next(line for line in events.iter_lines() if line.startswith("data: {"))
        question = json.loads(data.removeprefix("data: "))
        result = {"role": "assistant", "content": {"type": "text", "text": "this one"}, "model": "m1"}
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": result}
        httpx2.post(address, json=answer, headers=headers, trust_env=False).raise_for_status()
        call.join(patience_s(10))
    assert "the client said this one" in responses[0].text
