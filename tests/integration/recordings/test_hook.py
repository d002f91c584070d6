"""`forkpoint hook` with the payloads of real clients, in a rerun of what they record through the gateway."""

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.clients.model_server import model_server
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_runs import GatewaySession
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
CODEX_OUTPUT = "Chunk ID: ed063e\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\nfrom-exec\n"
CALLS = {
    "Bash": ({"command": "ls /tmp", "description": "List"}, "Exit code 2\nnone"),
    "exec_command": ({"cmd": "echo from-exec"}, CODEX_OUTPUT),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with model_server() as models:
        variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{models.url}/v1"}
        server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
        server.start()
        yield server
        server.stop()


def post(server: Server, path: str, body: Any) -> Any:
    response = HTTP.post(f"{server.url}/api/v1{path}", json=body, timeout=patience_s(30))
    assert response.status_code < 300, response.text
    return response.json() if response.content else None


@pytest.fixture(scope="module")
def rerun(server: Server) -> str:
    """Return a rerun of a run with a shell call of each client."""
    opened = post(server, "/gateway/sessions", {"app": "desk"})
    session = GatewaySession(server, server.url + opened["path"], opened["run"])
    calls = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, (arguments, _) in CALLS.items()
    ]
    results = [{"role": "tool", "tool_call_id": name, "content": output} for name, (_, output) in CALLS.items()]
    messages = [{"role": "user", "content": "Look"}, {"role": "assistant", "tool_calls": calls}, *results]
    session.post("/openai/v1/chat/completions", {"model": "m1", "messages": messages}).raise_for_status()
    post(server, f"/gateway/sessions/{opened['session']}/end", {"exit_code": 0})
    wait_until(lambda: session.summary()["sealed"], 30)
    return str(post(server, "/reruns", {"run": opened["run"], "ask_tools": ["Shell"], "hook_tools": [*CALLS]})["id"])


def ask(server: Server, rerun: str, call: Any, *options: str) -> Any:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FORKPOINT")}
    variables = {"FORKPOINT_URL": server.url, "FORKPOINT_RERUN": rerun, "NO_PROXY": "127.0.0.1"}
    process = subprocess.run(
        [*COMMAND, "hook", *options],
        input=json.dumps({"hook_event_name": "PreToolUse", "session_id": "1", "cwd": "/", **call}),
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=patience_s(60),
        check=True,
    )
    return json.loads(process.stdout)["hookSpecificOutput"] if process.stdout else None


def test_shell_calls_get_their_recorded_output_and_others_are_denied(server: Server, rerun: str) -> None:
    bash = {"command": "ls /tmp", "description": "List all"}
    claude_code = ask(server, rerun, {"tool_name": "Bash", "tool_input": bash, "tool_use_id": "t1"})
    assert (claude_code["permissionDecision"], claude_code["updatedInput"]) == (
        "allow",
        {**bash, "command": "printf %s none; exit 2"},
    )
    codex = ask(server, rerun, {"tool_name": "Bash", "tool_input": {"command": "echo from-exec"}, "turn_id": "1"})
    assert codex["updatedInput"] == {"command": "printf %s 'from-exec\n'; exit 0"}
    other = ask(server, rerun, {"tool_name": "Bash", "tool_input": {"command": "rm -r /"}})
    assert other["permissionDecision"] == "deny"
    assert "allow it with --allow-tool Bash" in other["permissionDecisionReason"]
    assert ask(server, rerun, {"tool_name": "Read", "tool_input": {"file_path": "/a"}}) is None


def test_hook_waits_for_the_operator_until_its_time_is_up(server: Server, rerun: str) -> None:
    path = f"{server.url}/api/v1/reruns/{rerun}/questions"

    def questions() -> Any:
        return HTTP.get(path, timeout=patience_s(30)).json()["questions"]

    def reply(action: str, **content: Any) -> None:
        [question] = wait_until(questions, 30)
        assert (question["arguments"], question["may_run"]) == ("make", True)
        post(
            server, f"/reruns/{rerun}/questions", {"sequence_no": question["sequence_no"], "action": action, **content}
        )

    call = {"tool_name": "Shell", "tool_input": {"command": "make", "description": "Build"}}
    with ThreadPoolExecutor() as pool:
        decisions = []
        for action, content in (("answer", {"output": "built"}), ("run", {}), ("fallback", {})):
            decision = pool.submit(ask, server, rerun, call, "--timeout", "600")
            reply(action, **content)
            decisions.append(decision.result())
    assert decisions[0]["updatedInput"]["command"] == "printf %s built; exit 0"
    assert decisions[1] is None
    assert "the operator refused this call of Shell" in decisions[2]["permissionDecisionReason"]
    late = ask(server, rerun, call, "--timeout", "10")
    assert late["permissionDecision"] == "deny"
    assert "no operator answered this call of Shell in time" in late["permissionDecisionReason"]
    assert questions() == []


def test_hook_says_nothing_outside_of_a_rerun(server: Server) -> None:
    assert ask(server, "", {"tool_name": "Bash", "tool_input": {"command": "ls"}}) is None
