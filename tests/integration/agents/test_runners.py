"""Replays in which a runner starts the agent again."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from forkpoint.confinement.trampoline import enforces_ports
from tests.clients.model_server import ANSWER, ModelServer
from tests.integration.agents.conftest import StartRunner, ended, fork, online, post, printed
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS
from tests.support.gateway_runs import get, rerun
from tests.support.patience import wait_until

pytestmark = pytest.mark.own_store
LIVE: dict[str, Any] = {
    "overrides": {"overrides": [{"match": {"type": "model"}, "prompt": {"system": "Answer in verse."}}]},
    "policy": {"allow": ["model"]},
}
# After its first call it stops for good, unless the file that the last argument names exists.
_FIRST = """
    import os, pathlib, signal, time
    if not pathlib.Path(sys.argv[-1]).exists():
        pathlib.Path(sys.argv[-1]).touch()
        print(os.getpid(), flush=True)
        {stop}
"""
KILLED_AGENT = AGENTS["chat"].replace("    messages +=", _FIRST.format(stop="os.kill(0, 9)") + "    messages +=")
HANGING_AGENT = AGENTS["chat"].replace("    messages +=", _FIRST.format(stop="time.sleep(600)") + "    messages +=")
# Leaves a process behind, in a session of its own.
LEAVING = "    print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True)\n"
LEAVING_AGENT = HANGING_AGENT.replace(
    "        print(os.getpid()", f"        import subprocess\n    {LEAVING}        print(os.getpid()"
)
CONFINED_AGENT = """
import os, socket, subprocess, sys
code = "import socket, sys; print(socket.socket().connect_ex(('127.0.0.1', int(sys.argv[1]))), flush=True)"
subprocess.run([sys.executable, "-I", "-c", code, sys.argv[2]])
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[2])))
except PermissionError:
    subprocess.Popen(["sleep", "600"], start_new_session=True)
import forkpoint
@forkpoint.tool
def send(city: str) -> None:
    print(f"sent to {city}", flush=True)
send(os.environ["CITY"])
sys.exit(f"nothing in {os.environ['CITY']}: {sys.argv[1]}")
"""
# It asks no more when a call fails, and ends as if nothing had happened.
CARELESS_AGENT = "import os, sys; sys.excepthook = lambda *_: os._exit(0)" + AGENTS["chat"]
ENDLESS_AGENT = """
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
"""


def test_fork_runs_the_agent(server: Server, models: ModelServer, run: str, start_runner: StartRunner) -> None:
    start_runner(AGENTS["chat"], "plain", options=("--name", "mine"))
    before = len(models.requests)
    session = ended(server, fork(server, run, **LIVE))
    assert (session["status"], session["error"]) == ("completed_simulated", "")
    assert (session["runner"], session["exit_code"], session["live_calls"]) == ("mine", 0, 3)
    assert [body["messages"][0]["content"] for _, body in models.requests[before:]] == ["Answer in verse."] * 3
    assert printed(server, session["id"]) == [("stdout", ANSWER)]
    steps = get(server, f"/runs/{session['run']}/steps")["steps"]
    assert [step["type"] for step in steps] == ["model", "tool", "tool", "model", "tool", "model"]
    repetition = ended(server, fork(server, run))
    assert (repetition["status"], repetition["live_calls"]) == ("completed_exact", 0)


def test_fork_names_changes_that_its_agent_never_reached(
    server: Server, run: str, start_runner: StartRunner, tmp_path: Path
) -> None:
    start_runner(AGENTS["chat"], "plain")
    final_answer = {"message": {"role": "assistant", "content": "It rains."}, "finish_reason": "stop"}
    entries = [{"match": {"step": no}, "output": final_answer} for no in (1, 4)]
    entries.append({"match": {"step": 5}, "tool": {"output": "sunny"}})
    session = ended(server, fork(server, run, overrides={"overrides": entries}))
    assert (session["status"], session["unused_calls"]) == ("completed_simulated", [4, 6])
    reason = "was not applied: the agent did not make the recorded call."
    assert session["divergences"] == [f"The change of step {no} {reason}" for no in (4, 5)]
    path = tmp_path / "overrides.json"
    path.write_text(json.dumps({"overrides": entries}))
    result = rerun(server, run, AGENTS["chat"], "plain", options=["--overrides", str(path)])
    assert (
        "changes that were not applied, because the agent did not make the recorded call: steps 4, 5" in result.stderr
    )
    repetition = rerun(server, run, AGENTS["chat"], "plain")
    assert "not applied" not in repetition.stderr


def test_killed_agent_starts_again_with_the_same_answers(
    server: Server, models: ModelServer, run: str, start_runner: StartRunner, tmp_path: Path
) -> None:
    start_runner(KILLED_AGENT, "plain", str(tmp_path / "mark"))
    before = len(models.requests)
    changed = {**LIVE, "overrides": {"overrides": [{"match": {"type": "model"}, "prompt": {"system": "Kill."}}]}}
    session = ended(server, fork(server, run, **changed))
    assert (session["status"], session["exit_code"], session["resolved_steps"]) == ("completed_simulated", 0, 6)
    assert len(models.requests) - before == 3
    assert [text for _, text in printed(server, session["id"])][-1] == ANSWER


def test_another_runner_goes_on_when_one_is_lost(
    server: Server, models: ModelServer, run: str, start_runner: StartRunner, tmp_path: Path
) -> None:
    lost = start_runner(LEAVING_AGENT, "plain", str(tmp_path / "mark"), options=("--name", "first"))
    before = len(models.requests)
    changed = {**LIVE, "overrides": {"overrides": [{"match": {"type": "model"}, "prompt": {"system": "Wait."}}]}}
    session = fork(server, run, **changed)
    pids = [int(text) for _, text in wait_until(lambda: printed(server, session)[1:] and printed(server, session), 30)]
    lost.kill()
    wait_until(lambda: not any(is_running(pid) for pid in pids), 30)
    wait_until(lambda: get(server, f"/replays/{session}")["status"] == "awaiting_operator", 30)
    start_runner(HANGING_AGENT, "plain", str(tmp_path / "mark"), options=("--name", "second"))
    view = ended(server, session)
    assert (view["status"], view["runner"], view["exit_code"]) == ("completed_simulated", "second", 0)
    assert len(models.requests) - before == 3


def test_agent_that_lost_its_server_starts_again(
    server: Server, models: ModelServer, run: str, start_runner: StartRunner
) -> None:
    start_runner(CARELESS_AGENT, "plain")
    second = len(models.requests) + 2
    models.on_arrival = lambda number: models.is_open.clear() if number == second else None
    changed = {**LIVE, "overrides": {"overrides": [{"match": {"type": "model"}, "prompt": {"system": "Restart."}}]}}
    session = fork(server, run, **changed)
    wait_until(lambda: len(models.requests) == second, 30)
    server.kill()
    models.on_arrival = lambda number: None
    models.is_open.set()
    server.start()
    view = ended(server, session)
    assert (view["status"], view["exit_code"], view["live_calls"]) == ("completed_simulated", 0, 3)
    # The answer of the open call is lost with the server that waited for it.
    assert len(models.requests) == second + 2
    assert [takeover["taken_back"] for takeover in view["takeovers"]] == [0, 0]


@pytest.mark.parametrize("ends_by", ["cancel", "deadline"])
def test_agent_ends_with_its_whole_group(server: Server, run: str, start_runner: StartRunner, ends_by: str) -> None:
    start_runner(ENDLESS_AGENT, options=("--parallel", "2"))
    budget = {"deadline_s": 5} if ends_by == "deadline" else {}
    sessions = [fork(server, run, policy={"budget": budget}) for _ in range(2)]
    pids = [int(first_line(server, session)) for session in sessions]
    if ends_by == "cancel":
        for session in sessions:
            post(server, f"/replays/{session}/cancel")
    views = [ended(server, session) for session in sessions]
    code = ("cancelled", "") if ends_by == "cancel" else ("failed_execution", "budget_deadline")
    assert [(view["status"], view["error_code"]) for view in views] == [code] * 2
    wait_until(lambda: not any(is_running(pid) for pid in pids), 30)


def first_line(server: Server, session: str) -> str:
    return wait_until(lambda: printed(server, session), 30)[0][1]


def is_running(pid: int) -> bool:
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


def test_agent_has_the_limits_of_a_rerun(
    server: Server, models: ModelServer, run: str, start_runner: StartRunner, tmp_path: Path
) -> None:
    port = models.url.rpartition(":")[2]
    start_runner(CONFINED_AGENT, "{input}", port, options=("--env-allow", "CITY", "--ask-tool", "send"))
    id = fork(server, run, variables={"CITY": "Oslo"})
    question = wait_until(lambda: get(server, f"/replays/{id}")["question"], 30)
    assert (question["tool_name"], question["arguments"], question["may_run"]) == ("send", {"city": "Oslo"}, True)
    assert get(server, f"/replays/{id}")["status"] == "awaiting_operator"
    post(server, f"/replays/{id}/answer", {"sequence_no": question["sequence_no"], "action": "run"})
    session = ended(server, id)
    assert (session["status"], session["exit_code"]) == ("completed_simulated", 1)
    [step] = get(server, f"/runs/{session['run']}/steps")["steps"]
    assert (step["name"], step["label"], step["reason"]) == ("send", "simulated", "agent_ran")
    place = f"127.0.0.1:{port}"
    refusal = f"forkpoint: a rerun may not connect to {place}: allow it with --allow-host {place}"
    assert sorted(text.partition(", or")[0] for _, text in printed(server, session["id"])) == [
        str(errno.EACCES if enforces_ports() else 0),
        refusal,
        "forkpoint: processes that the agent left behind are ended: 1",
        "nothing in Oslo: Weather and time?",
        "sent to Oslo",
    ]
    guard = "Python checks hosts" + (", the kernel TCP ports of all programs" if enforces_ports() else "")
    assert f"({guard})" in (tmp_path / "runner0.log").read_text()
    [runner] = online(server)
    assert (runner["env_allow"], f"({guard})" in runner["network"]) == (["CITY"], True)
