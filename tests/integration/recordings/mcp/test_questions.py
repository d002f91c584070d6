"""Calls of MCP servers about which the operator decides, and those whose arguments an override sets."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest

from tests.clients.environments import ROOT
from tests.clients.model_server import ModelServer
from tests.integration.recordings.mcp.conftest import open_rerun, python
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_runs import GatewaySession, Python, get, post, record, rerun, run_of
from tests.support.mcp_agents import HTTP_AGENT, stdio_agent
from tests.support.mcp_desks import Desk, desk_command
from tests.support.patience import patience_s, wait_until

LOST = {"content": [{"type": "text", "text": "lost"}], "structuredContent": {"result": "lost"}}
LOOKUP: Any = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "lookup", "arguments": {"order_id": "8"}}}


@contextmanager
def running_agent(
    server: Server,
    session: Any,
    program: str,
    *words: str,
    interpreter: Python,
) -> Iterator["subprocess.Popen[str]"]:
    """Start an agent in an open rerun."""
    gateway = server.url + session["path"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FORKPOINT"))}
    variables = {
        "FORKPOINT_GATEWAY": gateway,
        "FORKPOINT_RERUN": session["id"],
        "FORKPOINT_URL": server.url,
        "OPENAI_BASE_URL": f"{gateway}/openai/v1",
        "OPENAI_API_KEY": "none",
        "NO_PROXY": "127.0.0.1",
    }
    process = subprocess.Popen(
        [*interpreter, "-c", program, *words],
        env={**environment, **variables},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_shim(server: Server, session: Any) -> "Iterator[tuple[IO[str], IO[str]]]":
    """Start the shim before a server that cannot run; yield what a client writes to and reads from."""
    shim = [*COMMAND, "mcp-shim", "--name", "desk", "--", "false"]
    variables = {"FORKPOINT_GATEWAY": server.url + session["path"], "FORKPOINT_RERUN": session["id"]}
    with subprocess.Popen(
        shim, env={**os.environ, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin, process.stdout


def questions(server: Server, session: Any) -> list[Any]:
    return list(get(server, f"/reruns/{session['id']}/questions")["questions"])


def asked(server: Server, session: Any) -> Any:
    return wait_until(lambda: questions(server, session), 30)[0]


def answer(server: Server, session: Any, question: Any, action: str, **content: Any) -> None:
    body = {"sequence_no": question["sequence_no"], "action": action, **content}
    post(server, f"/api/v1/reruns/{session['id']}/questions", body)


@pytest.mark.parametrize("generation", ["mcp-2", "mcp-1"])
def test_client_waits_for_the_operator(server: Server, desk: Desk, run: str, generation: str) -> None:
    session, interpreter = open_rerun(server, run), python(generation, has_sdk=False)
    calls = desk.calls()
    with running_agent(server, session, HTTP_AGENT, "8", "9", "10", interpreter=interpreter) as agent:
        first = asked(server, session)
        assert (first["tool_name"], first["arguments"], first["may_run"]) == ("lookup", {"order_id": "8"}, True)
        answer(server, session, first, "answer", output=LOST)
        answer(server, session, asked(server, session), "run")
        answer(server, session, asked(server, session), "fallback")
        output, _ = agent.communicate(timeout=patience_s(60))
    _, said, ran, refused = json.loads(output)
    assert (said, json.loads(ran)["id"], desk.calls()) == ("lost", "9", calls + 1)
    assert "the operator refused this call of lookup" in refused
    [lookup] = [tool for tool in get(server, f"/reruns/{session['id']}")["tools"] if tool["name"] == "lookup"]
    assert (lookup["overridden"], lookup["run"], lookup["refusal"]) == (1, 1, 1)


def test_server_on_standard_streams_waits_for_the_operator(server: Server, run: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "tests.support.servers.mcp_server", "0", str(log)]
    shim = [*COMMAND, "mcp-shim", "--name", "desk", "--", "env", f"PYTHONPATH={ROOT}", *command]
    session, interpreter = open_rerun(server, run), python("mcp-2", has_sdk=False, transport="stdio")
    with running_agent(server, session, stdio_agent(shim), "8", "9", interpreter=interpreter) as agent:
        answer(server, session, asked(server, session), "answer", output=LOST)
        assert not log.exists()
        answer(server, session, asked(server, session), "run")
        output, _ = agent.communicate(timeout=patience_s(60))
    _, said, ran = json.loads(output)
    assert (said, json.loads(ran)["id"], len(log.read_text().splitlines())) == ("lost", "9", 1)


def test_shim_gives_up_with_its_client(server: Server, run: str) -> None:
    session = open_rerun(server, run)
    with running_shim(server, session) as (requests, responses):
        for id in (1, 2):
            message = {**LOOKUP, "id": id, "params": {**LOOKUP["params"], "_meta": {"progressToken": f"p{id}"}}}
            requests.write(json.dumps(message) + "\n")
        requests.flush()
        wait_until(lambda: len(questions(server, session)) == 2, 30)
        progress = json.loads(responses.readline())["params"]
        assert (progress["progressToken"] in ("p1", "p2"), progress["progress"]) == (True, 1)
        cancellation = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        requests.write(json.dumps(cancellation) + "\n")
        requests.flush()
        wait_until(lambda: len(questions(server, session)) == 1, 30)
        requests.close()
        wait_until(lambda: not questions(server, session), 30)
        # A client that waits no longer wants no response.
        assert not [line for line in responses if "result" in line or "error" in line]


@pytest.mark.parametrize("ending", ["hangs up", "cancels"])
def test_question_ends_with_its_request(server: Server, run: str, ending: str) -> None:
    session = open_rerun(server, run)
    address = f"{server.url}{session['path']}/mcp/desk"
    headers = {"accept": "application/json, text/event-stream", "mcp-session-id": "one"}
    request = {**LOOKUP, "id": 5, "params": {**LOOKUP["params"], "_meta": {"progressToken": 3}}}
    with httpx2.stream(
        "POST", address, json=request, headers=headers, timeout=patience_s(60), trust_env=False
    ) as response:
        lines = response.iter_lines()
        progress = json.loads(next(lines).removeprefix("data: "))
        assert (progress["method"], progress["params"]["progressToken"]) == ("notifications/progress", 3)
        question = asked(server, session)
        if ending == "cancels":
            cancellation = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
            for client in ("two", "one"):
                assert [item["sequence_no"] for item in questions(server, session)] == [question["sequence_no"]]
                own_headers = {**headers, "mcp-session-id": client}
                httpx2.post(address, json=cancellation, headers=own_headers, trust_env=False).raise_for_status()
            assert not [line for line in lines if "jsonrpc" in line and "progress" not in line]
    wait_until(lambda: not questions(server, session), 30)
    body = {"sequence_no": question["sequence_no"], "action": "run"}
    late = httpx2.post(f"{server.url}/api/v1/reruns/{session['id']}/questions", json=body, trust_env=False)
    assert late.status_code == 409


def test_restarted_server_goes_on_asking(server: Server, run: str) -> None:
    """The shim waits while the server is away."""
    session = open_rerun(server, run)
    with running_shim(server, session) as (requests, responses):
        requests.write(json.dumps({**LOOKUP, "id": 1}) + "\n")
        requests.flush()
        question = asked(server, session)
        server.stop()
        server.start()
        answer(server, session, question, "answer", output=LOST)
        response = json.loads(responses.readline())
        requests.close()
    assert response["result"] == LOST


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_server_gets_the_arguments_of_an_override(
    server: Server,
    desk: Desk,
    models: ModelServer,
    tmp_path: Path,
    kind: str,
) -> None:
    agent = HTTP_AGENT
    if kind == "stdio":
        agent = stdio_agent([*COMMAND, "mcp-shim", "--name", "desk", "--", *desk_command(tmp_path / "log")])
    interpreter = python("mcp-2", has_sdk=False, transport=kind)
    run = run_of(record(server, agent, "7", python=interpreter))
    overrides = tmp_path / "overrides.json"
    entry = {"match": {"type": "tool", "name": "lookup"}, "arguments": {"order_id": f"from {kind}"}}
    overrides.write_text(json.dumps({"overrides": [entry]}))
    options = ["--overrides", str(overrides), "--live", "--allow-tool", "lookup"]
    result = rerun(server, run, agent, "7", options=options, python=interpreter)
    assert result.returncode == 0, result.stderr
    assert json.loads(json.loads(result.stdout)[1])["id"] == f"from {kind}"
    fork = next(line for line in result.stderr.splitlines() if line.startswith("Fork: ")).rpartition("/")[2]
    [step] = [step for step in GatewaySession(server, "", fork).steps(4) if step["name"] == "lookup"]
    assert (step["input"], step["label"], step["reason"]) == ({"order_id": f"from {kind}"}, "simulated", "agent_ran")
    assert step["attributes"]["asked"] == {"order_id": "7"}
