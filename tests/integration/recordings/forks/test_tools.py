"""Tools of an agent that runs again: answered, run or refused, and the steps they become in a fork."""

import os
import pty
import sys
from pathlib import Path
from typing import Any

from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_agents import PLAIN_TOOLS, REQUESTS, TOOL_AGENT, TOOL_CLIENT_AGENT
from tests.support.gateway_runs import (
    ANSWERED_TOOL,
    EXACT,
    LIVE,
    TOOL,
    GatewaySession,
    fork_of,
    get,
    labels,
    post,
    record,
    rerun,
    run_agent,
    run_of,
)
from tests.support.http import HTTP
from tests.support.patience import wait_until

ROOT = Path(__file__).parents[4]
NODE_AGENT = ROOT / "tests/support/node_agent.mjs"


def test_tools_are_answered_and_not_run_again(server: Server, models: ModelServer, tmp_path: Path) -> None:
    log = tmp_path / "executions"
    variables = {"OPENAI_BASE_URL": f"{models.url}/v1", "OPENAI_API_KEY": "none"}
    first = run_agent(server, ["record", "--app", "tools"], TOOL_CLIENT_AGENT, str(log), **variables)
    assert (first.returncode, first.stdout) == (0, f"{ANSWER} False\n"), first.stderr
    [run] = wait_until(lambda: runs_of(server, "tools"), 30)
    executions, requests = log.read_text(), len(models.requests)
    assert executions.split() == ["get_weather", "get_time", "get_weather"]
    again = rerun(server, run, TOOL_CLIENT_AGENT, str(log))
    assert (again.returncode, again.stdout) == (0, f"{ANSWER} True\n"), again.stderr
    assert "get_weather: 2 exact\n  get_time: 1 exact" in again.stderr
    assert (log.read_text(), len(models.requests)) == (executions, requests)
    other = TOOL_AGENT.replace(
        "functions =", "get_weather('Bern')\nimport os; note(os.environ['FORKPOINT_FREEZE'])\nfunctions ="
    )
    refusal = rerun(server, run, other, str(log))
    assert (refusal.returncode, refusal.stdout) == (5, ""), refusal.stderr
    assert "this call of get_weather is not in the recording" in refusal.stderr
    assert log.read_text() == executions
    options = ["--allow-tool", "get_weather", "--set-model", "m2", "--live", "--freeze"]
    allowance = rerun(server, run, other, str(log), options=options)
    assert (allowance.returncode, allowance.stdout) == (0, f"{ANSWER} True\n"), allowance.stderr
    assert log.read_text().startswith(f"{executions}get_weather\n20")
    seed = post(server, "/api/v1/reruns", {"run": run})["seed"]
    assert log.read_text().endswith(f" {seed}\n")
    fork, _ = fork_of(server, allowance)
    # Bern, and the values of the prompt.
    first_steps = [TOOL, *[ANSWERED_TOOL] * 3]
    assert labels(fork.steps(10)) == [*first_steps, LIVE, ANSWERED_TOOL, ANSWERED_TOOL, LIVE, ANSWERED_TOOL, LIVE]
    assert [decision(server, run, name) for name in ("get_weather", "get_time")] == ["refusal", "refusal"]
    review = {"decisions": [{"name": "get_time", "safe": True}]}
    assert HTTP.put(f"{server.url}/api/v1/tools", json=review).status_code == 200
    assert [decision(server, run, name) for name in ("get_weather", "get_time")] == ["refusal", "run"]


def test_fork_has_every_step_of_its_agent(server: Server, models: ModelServer, tmp_path: Path) -> None:
    check = 'with recorder.validator("{}", input={}) as check:\n    check.decide(True)\n'
    begin = "recorder = forkpoint.recorder\nrun = recorder.run('desk').__enter__()\n"
    begin += check.format("polite", '"please"') + "agent = recorder.agent('desk', input='go').__enter__()\n"
    end = check.format("answered", "message['content']") + "agent.output = message['content']\nagent.end()\nrun.end()\n"
    program = TOOL_CLIENT_AGENT.replace("functions =", f"{begin}functions =") + end
    variables = {"OPENAI_BASE_URL": f"{models.url}/v1", "OPENAI_API_KEY": "none"}
    first = run_agent(server, ["record", "--app", "whole"], program, str(tmp_path / "log"), **variables)
    assert first.returncode == 0, first.stderr
    [run] = wait_until(lambda: runs_of(server, "whole"), 30)
    steps = GatewaySession(server, "", run).steps(12)
    last_no = max(step["sequence_no"] for step in steps if step["type"] == "model")
    options = ["--from", str(last_no), "--set-prompt", "Be brief.", "--live"]
    fork, _ = fork_of(server, rerun(server, run, program, str(tmp_path / "log"), options=options))
    forked_steps = fork.steps(12)
    places = [[(step["type"], step["parent"], step["status"]) for step in side] for side in (steps, forked_steps)]
    assert places[0] == places[1]
    assert labels(forked_steps) == [
        ("validator", "exact", "agent_ran"),
        ("agent", "simulated", "agent_ran"),
        *[ANSWERED_TOOL] * 3,
        *(EXACT, ANSWERED_TOOL, ANSWERED_TOOL, EXACT),
        *(ANSWERED_TOOL, LIVE, ("validator", "simulated", "agent_ran")),
    ]


def test_sdk_reports_tools_of_an_agent_behind_the_gateway(server: Server, models: ModelServer, tmp_path: Path) -> None:
    log = tmp_path / "executions"
    first = record(server, TOOL_AGENT, str(log))
    assert (first.returncode, first.stdout) == (0, f"{ANSWER} False\n"), first.stderr
    run = run_of(first)
    steps = GatewaySession(server, "", run).steps(9)
    values = ["forkpoint.now", "forkpoint.random", "forkpoint.uuid"]
    tools = ["m1", "get_weather", "get_time", "m1", "get_weather", "m1"]
    assert [step["name"] for step in steps] == [*values, *tools]
    ids = [step["call_id"] for step in steps if step["name"].startswith("get_")]
    assert ids == ["call_00", "call_01", "call_10"]
    assert [step["output"] for step in steps if step["name"] == "get_weather"] == [
        {"city": step["input"]["city"], "degrees": 21} for step in steps if step["name"] == "get_weather"
    ]
    assert [(step["status"], step["error"]) for step in steps if step["name"] == "get_time"] == [
        ("error", "NoClock: Zürich: no clock")
    ]
    executions, requests = log.read_text(), len(models.requests)
    again = rerun(server, run, TOOL_AGENT, str(log))
    assert (again.returncode, again.stdout) == (0, f"{ANSWER} True\n"), again.stderr
    # The requests are the same to the byte: results have the order that the agent gave them.
    assert "3 calls exact\n  forkpoint.now: 1 exact" in again.stderr
    assert "get_weather: 2 exact\n  get_time: 1 exact" in again.stderr
    assert (log.read_text(), len(models.requests)) == (executions, requests)


def test_tools_of_a_node_agent_are_recorded_and_answered(server: Server, models: ModelServer, tmp_path: Path) -> None:
    log = tmp_path / "executions"
    words = (str(ROOT / "scripts/with-node"), str(NODE_AGENT), str(log), str(ROOT / "forkpoint/node/index.js"))
    program = 'exec "$0" node "$@"'
    first = record(server, program, *words, python=("sh",))
    assert (first.returncode, first.stdout) == (0, f"{ANSWER} false\n"), first.stderr
    run = run_of(first)
    steps = GatewaySession(server, "", run).steps(9)
    assert [step["name"] for step in steps if step["type"] == "tool"] == [
        *("forkpoint.now", "forkpoint.random", "forkpoint.uuid"),
        *("get_weather", "get_time", "get_weather"),
    ]
    outcomes = {step["name"]: (step["output"], step["error"]) for step in steps}
    weather = {"at": "1970-01-01T00:00:00.000Z", "city": "Lima", "degrees": 21, "notes": [None, 0]}
    assert outcomes["get_weather"] == (weather, "")
    assert outcomes["get_time"] == (None, "RangeError: no clock in Zürich")
    executions, requests = log.read_text(), len(models.requests)
    again = rerun(server, run, program, *words, python=("sh",))
    assert (again.returncode, again.stdout) == (0, f"{ANSWER} true\n"), again.stderr
    assert "get_weather: 2 exact\n  get_time: 1 exact" in again.stderr
    refusal = rerun(server, run, program, *words, "Bern", python=("sh",))
    assert (refusal.returncode, refusal.stdout) == (5, ""), refusal.stderr
    assert "this call of get_weather is not in the recording" in refusal.stderr
    assert (log.read_text(), len(models.requests)) == (executions, requests)


def test_effects_are_not_repeated_when_the_agent_is_started_again(server: Server, run: str) -> None:
    id = post(server, "/api/v1/reruns", {"run": run, "live": True, "allow_tools": ["send_letter", *PLAIN_TOOLS]})["id"]
    question = {"type": "tool", "name": "send_letter", "arguments": {"city": "Bern"}}
    answers = [post(server, f"/api/v1/reruns/{id}/tools", question) for _ in range(2)]
    assert [answer["decision"] for answer in answers] == ["run", "run"]
    post(server, f"/api/v1/reruns/{id}/resume", {})
    refusal = post(server, f"/api/v1/reruns/{id}/tools", question)
    assert refusal["decision"] == "refusal"
    assert "send_letter ran before the agent was started again" in refusal["reason"]


def test_operator_decides_about_calls_that_are_not_recorded(server: Server, run: str) -> None:
    id = post(
        server, "/api/v1/reruns", {"run": run, "live": True, "ask_tools": ["send_*"], "allow_tools": PLAIN_TOOLS}
    )["id"]
    questions = f"/api/v1/reruns/{id}/questions"

    def ask(city: str, call: str) -> Any:
        question = {"type": "tool", "name": "send_letter", "arguments": {"city": city}, "call": call}
        return post(server, f"/api/v1/reruns/{id}/tools", question)

    def answer(no: int, action: str, **content: Any) -> Any:
        return post(server, questions, {"sequence_no": no, "action": action, **content})["questions"]

    assert ask("Bern", "")["decision"] == "refusal"
    assert [ask(city, city)["decision"] for city in ("Bern", "Rome", "Bern", "Oslo")] == ["ask"] * 4
    [bern, *_] = get(server, f"/reruns/{id}/questions")["questions"]
    assert (bern["tool_name"], bern["arguments"], bern["may_run"]) == ("send_letter", {"city": "Bern"}, True)
    assert bern["text"] == "The agent calls send_letter, which is not in the recording"
    assert [item["sequence_no"] for item in answer(1, "answer", output={"sent": 1})] == [2, 3]
    answer(2, "run")
    assert answer(3, "fallback") == []
    answers = [ask(city, city) for city in ("Bern", "Bern", "Rome", "Oslo")]
    assert [item["decision"] for item in answers] == ["overridden", "overridden", "run", "refusal"]
    assert answers[0]["output"] == {"sent": 1}
    [tool] = get(server, f"/reruns/{id}")["tools"]
    assert (tool["overridden"], tool["run"], tool["refusal"]) == (1, 1, 2)

    post(server, f"/api/v1/reruns/{id}/resume", {})
    old_process = {"type": "tool", "name": "send_letter", "arguments": {"city": "Oslo"}, "call": "Oslo"}
    address = f"{server.url}/api/v1/reruns/{id}/tools"
    assert HTTP.post(address, json=old_process).status_code == 409
    assert ask("Bern", "again")["output"] == {"sent": 1}
    assert ask("Rome", "again-2")["decision"] == "ask"
    [rome] = get(server, f"/reruns/{id}/questions")["questions"]
    assert ("which ran before the agent was started again" in rome["text"], rome["may_run"]) == (True, False)
    body = {"sequence_no": rome["sequence_no"], "action": "run"}
    assert HTTP.post(server.url + questions, json=body).status_code == 409


def test_operator_is_asked_on_the_terminal(server: Server, models: ModelServer, tmp_path: Path) -> None:
    log = tmp_path / "executions"
    program = 'import forkpoint\n@forkpoint.tool\ndef send(to: str) -> str:\n    raise SystemExit("it ran")\n'
    run = run_of(record(server, TOOL_AGENT, str(log)))
    GatewaySession(server, "", run).summary()
    words = [*COMMAND, "rerun", run, "--ask-tool", "send", "--live", "--url", server.url]
    pid, terminal = pty.fork()
    if pid == 0:
        command = [*words, "--", sys.executable, "-c", program + "print(send('Bern'))\n" + TOOL_AGENT, str(log)]
        names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT")
        os.execve(command[0], command, {name: text for name, text in os.environ.items() if not name.startswith(names)})
    for text in (b"o\n", b'"delivered"\n'):
        read_until(terminal, b"? " if text == b"o\n" else b"text: ")
        os.write(terminal, text)
    output = read_until(terminal, b"Diff: ")
    os.close(terminal)
    assert (b"\ndelivered\r\n" in output, b"send: 1 overridden" in output, b"it ran" in output) == (True, True, False)
    os.waitpid(pid, 0)


def read_until(terminal: int, end: bytes) -> bytes:
    output = b""
    while end not in output:
        output += os.read(terminal, 10_000)
    return output


def runs_of(server: Server, app: str) -> list[str]:
    return [run["id"] for run in get(server, f"/runs?app={app}")["runs"] if run["status"] != "running"]


def decision(server: Server, run: str, tool: str) -> str:
    """Return what becomes of a call that is not in the recording."""
    reruns = f"{server.url}/api/v1/reruns"
    id = HTTP.post(reruns, json={"run": run}).json()["id"]
    question = {"type": "tool", "name": tool, "arguments": {"city": "Bern"}}
    return str(HTTP.post(f"{reruns}/{id}/tools", json=question).json()["decision"])


POOL_AGENT = f"""{REQUESTS}
import forkpoint, multiprocessing

@forkpoint.tool
def roll(sides: int) -> int:
    with open(sys.argv[1], "a") as file:
        file.write(f"{{sides}}\\n")
    return sides

print(ask_openai("chat/completions", {{"model": "m1", "messages": [{{"role": "user", "content": "Roll"}}]}})["model"])
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(roll, map(int, sys.argv[2].split(","))))
"""


def test_tools_of_a_process_pool_are_answered(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = record(server, POOL_AGENT, str(log), "6,8")
    again = rerun(server, run_of(first), POOL_AGENT, str(log), "6,8")
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert "roll: 2 exact" in again.stderr
    refusal = rerun(server, run_of(first), POOL_AGENT, str(log), "6,10", options=["--timeout", "60"])
    assert refusal.returncode == 5
    assert "The program is ended: it ran" not in refusal.stderr
    assert sorted(log.read_text().split()) == ["6", "8"]
