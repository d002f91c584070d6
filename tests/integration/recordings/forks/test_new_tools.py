"""A model that answers anew calls a tool that no run has called: it runs only if it is allowed."""

import json
import textwrap
from pathlib import Path
from uuid import uuid4

import pytest

from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS
from tests.support.gateway_runs import LIVE, fork_of, get, labels, rerun, run_agent, run_of

ERASE = ("--set-prompt", "please erase it", "--live")
SHRED = ("--set-prompt", "please erase and shred it", "--live")
# The SDK knows `erase` if the last argument says so, and the other two in any case.
AGENT = (
    AGENTS["chat"]
    .replace(
        "stream = {",
        """
import forkpoint
def make(name):
    def function(**arguments):
        with open(sys.argv[2], "a") as file:
            file.write(name + "\\n")
        return "fine"
    function.__name__ = name
    return function if name in ("erase", "shred") and sys.argv[3] == "unknown" else forkpoint.tool(function)
functions = {name: make(name) for name in ("get_weather", "get_time", "erase", "shred")}
stream = {""",
        1,
    )
    .replace('for name in ("get_weather", "get_time")', "for name in functions")
    .replace(
        '"content": "fine"}',
        '"content": functions[call["function"]["name"]](**json.loads(call["function"]["arguments"]))}',
    )
)


def record(server: Server, *arguments: str) -> str:
    """Record the agent in an app of its own: what other runs of an app have called counts."""
    return run_of(run_agent(server, ["record", "--gateway", "--app", uuid4().hex], AGENT, *arguments))


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_tool_that_nothing_intercepts_never_runs_unseen(
    server: Server, models: ModelServer, tmp_path: Path, mode: str
) -> None:
    log = tmp_path / "calls"
    run = record(server, mode, str(log), "unknown")
    log.write_text("")
    refusal = rerun(server, run, AGENT, mode, str(log), "unknown", options=SHRED)
    assert (refusal.returncode, log.read_text()) == (5, ""), refusal.stderr
    # Also what a stream calls after the call at which it was refused.
    assert "the model's answer calls erase, shred, and nothing is known to intercept such a call" in refusal.stderr
    # The answer is paid for, and shown with what became of it.
    fork, _ = fork_of(server, refusal)
    (step,) = [step for step in fork.steps(1) if step["type"] == "model"]
    assert labels([step]) == [("model", "simulated", "live_model_call")]
    assert (step["status"], "--allow-tool erase --allow-tool shred" in step["error"]) == ("error", True)
    assert "call_erase" in json.dumps(step["output"])
    # With consent it reaches the agent, and is not paid for once more. Only what follows is new.
    id, count = refusal.stderr.split()[1].removesuffix(":"), len(models.requests)
    assert f"With --resume {id}, the answer is not asked for again" in refusal.stderr
    words = ["rerun", "--resume", id, "--allow-tool", "erase", "--allow-tool", "shred"]
    again = run_agent(server, words, AGENT, mode, str(log), "unknown")
    assert (again.returncode, again.stdout.strip(), log.read_text()) == (0, ANSWER, "erase\nshred\n"), again.stderr
    assert len(models.requests) == count + 2
    fork, _ = fork_of(server, again)
    first, *_ = fork.steps(4)
    assert (labels([first]), first["status"], first["error"]) == ([LIVE], "ok", "")


def test_agent_that_ignores_a_refusal_can_be_resumed(server: Server, models: ModelServer, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    agent = f"try:\n{textwrap.indent(AGENT, '    ')}\nexcept BaseException: pass\n"
    run = record(server, "plain", str(log), "unknown")
    log.write_text("")
    refusal = rerun(server, run, agent, "plain", str(log), "unknown", options=ERASE)
    id, count = refusal.stderr.split()[1].removesuffix(":"), len(models.requests)
    assert get(server, f"/reruns/{id}")["exit_code"] == 0
    again = run_agent(server, ["rerun", "--resume", id, "--allow-tool", "erase"], agent, "plain", str(log), "unknown")
    assert (again.returncode, log.read_text(), len(models.requests)) == (0, "erase\n", count + 2), again.stderr


def test_tool_that_asks_is_not_held_up(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    run = record(server, "plain", str(log), "known")
    log.write_text("")
    refusal = rerun(server, run, AGENT, "plain", str(log), "known", options=ERASE)
    assert (refusal.returncode, log.read_text()) == (5, ""), refusal.stderr
    assert "this call of erase is not in the recording" in refusal.stderr


def test_answer_of_an_override_calls_no_unknown_tool(server: Server, tmp_path: Path) -> None:
    log, profile = tmp_path / "calls", tmp_path / "profile.json"
    run = record(server, "plain", str(log), "unknown")
    log.write_text("")
    call = {"id": "c1", "name": "erase", "arguments": {}}
    answer = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    profile.write_text(json.dumps({"overrides": [{"match": {"step": 1}, "output": answer}]}))
    refusal = rerun(server, run, AGENT, "plain", str(log), "unknown", options=["--overrides", str(profile)])
    assert (refusal.returncode, log.read_text()) == (5, ""), refusal.stderr
    assert "the model's answer calls erase" in refusal.stderr
