"""Forks in which the agent itself runs again: overrides on requests, live calls, and the run that becomes of it."""

import json
import socket
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.clients.model_server import ANSWER, ModelServer, model_server
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS, GEMINI_AGENT, SEARCH_AGENT, TOOL_AGENT
from tests.support.gateway_runs import GatewaySession, record, rerun, run_agent, run_of
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
ROOT = Path(__file__).parents[3]
NODE_AGENT = ROOT / "tests/support/node_agent.mjs"


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {
        "FORKPOINT_QUIET_S": "1",
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": f"{models.url}/v1",
        "ANTHROPIC_API_KEY": "sk-2",
        "ANTHROPIC_BASE_URL": models.url,
        "GEMINI_API_KEY": "sk-3",
        "GOOGLE_GEMINI_BASE_URL": models.url,
    }
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    run = run_of(record(server, AGENTS["chat"], "plain"))
    wait_until(lambda: get(server, f"/runs/{run}")["sealed"], 30)
    return run


def fork_of(server: Server, result: "subprocess.CompletedProcess[str]") -> tuple[GatewaySession, str]:
    """Return the run of a fork, and its diff, as the command prints them."""
    *_, run, diff = result.stderr.strip().splitlines()
    assert (run.startswith("Fork: "), diff.startswith("Diff: ")) == (True, True), result.stderr
    return GatewaySession(server, "", run.rpartition("/")[2]), diff.rpartition("/")[2]


def get(server: Server, path: str) -> Any:
    response = httpx2.get(f"{server.url}/api/v1{path}", timeout=patience_s(30), trust_env=False)
    assert response.status_code == 200, response.text
    return response.json()


def labels(steps: list[Any]) -> list[tuple[str, str, str]]:
    return [(step["type"], step["label"], step["reason"]) for step in steps]


def profile(folder: Path, *entries: Any) -> str:
    path = folder / "overrides.json"
    path.write_text(json.dumps({"overrides": entries}))
    return str(path)


def new(models: ModelServer, before: int) -> list[tuple[str, dict[str, Any]]]:
    return models.requests[before:]


LIVE = ("model", "simulated", "live_model_call")
CACHED = ("model", "cached", "cache_hit_signature_match")
EXACT = ("model", "exact", "source_output_reused")
ANSWERED_TOOL = ("tool", "exact", "source_output_reused")
SAME_TOOL = ("tool", "exact", "agent_ran")
TOOL = ("tool", "simulated", "agent_ran")


def system_prompt(body: dict[str, Any]) -> Any:
    return body.get("system") or body.get("instructions") or body["messages"][0]["content"]


@pytest.mark.parametrize(("api", "mode"), [("chat", "plain"), ("responses", "stream"), ("anthropic", "stream")])
def test_changed_prompt_and_model_go_live_and_become_a_run(
    server: Server, models: ModelServer, api: str, mode: str
) -> None:
    run = run_of(record(server, AGENTS[api], mode))
    before = len(models.requests)
    options = ["--set-prompt", "Answer in verse.", "--set-model", "m2", "--live"]
    result = rerun(server, run, AGENTS[api], mode, options=options)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    requests = [(body["model"], system_prompt(body)) for _, body in new(models, before)]
    assert requests == [("m2", "Answer in verse.")] * 3
    fork, diff = fork_of(server, result)
    steps = fork.steps(6)
    assert labels(steps) == [LIVE, TOOL, TOOL, LIVE, TOOL, LIVE]
    assert steps[0]["input"]["messages"][0]["content"] == "Answer in verse."
    assert {step["model"] for step in steps if step["type"] == "model"} == {"m2"}
    view = get(server, f"/runs/{fork.id}")
    assert (view["source_run"], view["fork_sequence_no"], view["status"]) == (run, 1, "completed")
    assert {node["id"]: node["diff"] for node in get(server, f"/runs/{run}/tree")["runs"]} == {run: None, fork.id: diff}
    report = get(server, f"/diffs/{diff}")
    assert (report["base"]["id"], report["candidate"]["id"]) == (run, fork.id)
    again = rerun(server, run, AGENTS[api], mode, options=options[:-1])
    assert (again.returncode, again.stdout.strip(), len(new(models, before))) == (0, ANSWER, 3), again.stderr
    first, *_ = fork_of(server, again)[0].steps(6)
    assert (labels([first]), first["detail"]["matched"]["run"]) == ([CACHED], fork.id)


def test_override_of_a_result_keeps_everything_before_it(
    server: Server, models: ModelServer, run: str, tmp_path: Path
) -> None:
    overrides = profile(tmp_path, {"match": {"type": "tool", "name": "get_time"}, "tool": {"output": "midnight"}})
    before = len(models.requests)
    result = rerun(server, run, AGENTS["chat"], "stream", options=["--override", overrides, "--from", "2", "--live"])
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    results = [
        [item["content"] for item in body["messages"] if item["role"] == "tool"] for _, body in new(models, before)
    ]
    assert results == [["fine", "midnight"], ["fine", "midnight", "fine"]]
    fork, _ = fork_of(server, result)
    steps = fork.steps(6)
    override = ("tool", "simulated", "simulation_operator_override")
    assert labels(steps) == [EXACT, SAME_TOOL, override, LIVE, TOOL, LIVE]
    assert (steps[2]["output"], get(server, f"/runs/{fork.id}")["fork_sequence_no"]) == ("midnight", 3)


def test_known_tool_returns_an_override_where_requests_have_no_ids(
    server: Server, models: ModelServer, tmp_path: Path
) -> None:
    entry = {"match": {"type": "tool", "name": "get_time"}, "tool": {"output": "midnight"}}
    options = ["--override", profile(tmp_path, entry), "--live"]
    run, other_run = (run_of(record(server, GEMINI_AGENT, kind)) for kind in ("known", "unknown"))
    before = len(models.requests)
    result = rerun(server, run, GEMINI_AGENT, "known", options=options)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    requests = [json.dumps(body) for _, body in new(models, before)]
    assert [("midnight" in text, "noon in" in text) for text in requests] == [(True, False)] * 2
    assert "get_time: 1 overridden\n" in result.stderr
    fork, _ = fork_of(server, result)
    [clock] = [step for step in fork.steps(6) if step["name"] == "get_time"]
    assert (clock["label"], clock["reason"]) == ("simulated", "simulation_operator_override")
    refusal = rerun(server, other_run, GEMINI_AGENT, "unknown", options=options)
    assert "the result of step 3 cannot be overridden: the SDK does not know this tool" in refusal.stderr
    assert len(models.requests) == before + 2


def test_without_live_calls_a_changed_call_is_refused(
    server: Server, models: ModelServer, run: str, tmp_path: Path
) -> None:
    before = len(models.requests)
    result = rerun(server, run, AGENTS["chat"], "plain", options=["--set-prompt", "Be brief.", "--from", "4"])
    assert result.returncode == 5
    assert "`live` allows calls of the provider" in result.stderr, result.stderr
    assert ": 1 call exact, 1 without an answer" in result.stderr
    answer = profile(tmp_path, {"match": {"step": 4}, "output": "Noon."})
    result = rerun(server, run, AGENTS["chat"], "plain", options=["--override", answer])
    assert (result.returncode, result.stdout.strip(), new(models, before)) == (0, "Noon.", []), result.stderr
    fork, _ = fork_of(server, result)
    assert labels(fork.steps(4))[3] == ("model", "simulated", "simulation_operator_override")


def test_override_that_no_agent_can_follow_is_refused(server: Server, run: str, tmp_path: Path) -> None:
    arguments = profile(tmp_path, {"match": {"type": "tool"}, "arguments": {"city": "Rome"}})
    result = rerun(server, run, "print('it ran')", options=["--override", arguments])
    assert (result.returncode, result.stdout) == (6, "")
    assert "while the agent runs, searches and the arguments of tools are its own" in result.stderr


def test_budget_ends_live_calls(server: Server, models: ModelServer, run: str) -> None:
    before = len(models.requests)
    options = ["--set-model", "gpt-4o", "--live", "--max-live-calls", "1", "--timeout", "60"]
    result = rerun(server, run, AGENTS["chat"], "plain", options=options)
    assert (result.returncode, len(new(models, before))) == (5, 1), result.stderr
    assert result.stderr.count("the budget's limit of live calls is 1") == 2
    assert "live calls of all starts: 1, $0.000" in result.stderr
    limits = [{"max_cost_usd": 1e-6}, {"max_cost_usd": 1e-6}, {"deadline_s": 1e-6}]
    problems = [blocks(server, run, model, limit) for model, limit in zip(("gpt-4o", "m2", "m2"), limits, strict=True)]
    assert problems == [
        ["", "the budget's limit is $1e-06, and $0.0002 is spent"],
        ["the budget's limit is $1e-06, and the price of m2 is not known"] * 2,
        ["the budget's limit of time is 1e-06 s"] * 2,
    ]


def blocks(server: Server, run: str, model: str, budget: Any) -> list[str]:
    """Return why each of two live calls is blocked; empty if it is not."""
    session = post(server, "/api/v1/reruns", {"run": run, "live": True, "budget": budget})
    problems = []
    for text in ("Time?", "Date?"):
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        address = f"{server.url}{session['path']}/openai/v1/chat/completions"
        response = httpx2.post(address, json=body, timeout=patience_s(60), trust_env=False)
        assert response.headers.get("x-should-retry") == (None if response.is_success else "false")
        problem = response.json().get("error", {}).get("message", "")
        problems.append(problem.removeprefix(f"Forkpoint's gateway: rerun {session['id']}: "))
    return problems


def test_embeddings_and_token_counts_are_answered_as_recorded(server: Server, models: ModelServer) -> None:
    run = run_of(record(server, SEARCH_AGENT, "Zürich", "1"))
    vector, count, _ = GatewaySession(server, "", run).steps(3)
    assert (vector["type"], vector["name"], vector["model"]) == ("tool", "openai.embeddings", "e1")
    assert (vector["output"]["data"][0]["embedding"], vector["tokens_in"]) == ([0.06, 0.25], 6)
    assert (count["name"], set(count["output"])) == ("anthropic.count_tokens", {"input_tokens"})
    before = len(models.requests)
    # Without a model the same call has the same answer, however often it is made.
    again = rerun(server, run, SEARCH_AGENT, "Zürich", "2")
    assert (again.returncode, again.stdout.strip()) == (0, ANSWER), again.stderr
    assert ": 3 calls exact, 1 cached" in again.stderr
    refusal = rerun(server, run, SEARCH_AGENT, "Bern", "1")
    assert (refusal.returncode, len(new(models, before))) == (5, 0), refusal.stderr
    assert "at /input it has “Bern”, and step 1 has “Zürich”" in refusal.stderr
    result = rerun(server, run, SEARCH_AGENT, "Bern", "2", options=["--set-prompt", "Be brief.", "--live"])
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    paths = [path.rpartition("/")[2] for path, _ in new(models, before)]
    assert paths == ["embeddings", "embeddings", "completions"]
    fork, _ = fork_of(server, result)
    live = ("tool", *LIVE[1:])
    assert labels(fork.steps(4)) == [live, live, ANSWERED_TOOL, LIVE]


def test_program_that_never_ends_is_ended(server: Server, run: str) -> None:
    result = rerun(server, run, "import time; time.sleep(600)", options=["--timeout", "1"])
    assert result.returncode == 5, result.stderr
    assert "The program is ended: it ran for 1 s." in result.stderr


def test_agent_that_was_killed_gets_the_same_answers_again(
    server: Server, models: ModelServer, run: str, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    ending = f"import os, pathlib, signal; mark = pathlib.Path({str(killed)!r})\n"
    ending += "len(messages) < 6 or mark.exists() or (mark.touch(), os.kill(os.getpid(), signal.SIGKILL))\n"
    program = AGENTS["chat"].replace("while True:\n", f"while True:\n{textwrap.indent(ending, '    ')}")
    before = len(models.requests)
    result = rerun(server, run, program, "stream", options=["--set-model", "m2", "--live"])
    assert (result.returncode, len(new(models, before))) == (137, 2), result.stderr
    id = result.stderr.split()[1].removesuffix(":")
    result = run_agent(server, ["rerun", "--resume", id], program, "stream")
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    assert len(new(models, before)) == 3
    fork, _ = fork_of(server, result)
    assert labels(fork.steps(6)) == [LIVE, TOOL, TOOL, LIVE, TOOL, LIVE]
    assert run_agent(server, ["rerun", "--resume", id], program, "stream").returncode == 6


def test_tools_are_answered_and_not_run_again(server: Server, models: ModelServer, tmp_path: Path) -> None:
    log = tmp_path / "executions"
    variables = {"OPENAI_BASE_URL": f"{models.url}/v1", "OPENAI_API_KEY": "none"}
    first = run_agent(server, ["record", "--app", "tools"], TOOL_AGENT, str(log), **variables)
    assert (first.returncode, first.stdout) == (0, f"{ANSWER} False\n"), first.stderr
    [run] = wait_until(lambda: runs_of(server, "tools"), 30)
    executions, requests = log.read_text(), len(models.requests)
    assert executions.split() == ["get_weather", "get_time", "get_weather"]
    again = rerun(server, run, TOOL_AGENT, str(log))
    assert (again.returncode, again.stdout) == (0, f"{ANSWER} True\n"), again.stderr
    assert "get_weather: 2 exact\n  get_time: 1 exact" in again.stderr
    assert (log.read_text(), len(models.requests)) == (executions, requests)
    other = TOOL_AGENT.replace(
        "client =", "get_weather('Bern')\nimport os; note(os.environ['FORKPOINT_FREEZE'])\nclient ="
    )
    refusal = rerun(server, run, other, str(log))
    assert (refusal.returncode, refusal.stdout) == (5, ""), refusal.stderr
    assert "this call of get_weather is not in the recording" in refusal.stderr
    assert log.read_text() == executions
    options = ["--allow-tool", "get_weather", "--set-model", "m2", "--live", "--freeze"]
    allowance = rerun(server, run, other, str(log), options=options)
    assert (allowance.returncode, allowance.stdout) == (0, f"{ANSWER} True\n"), allowance.stderr
    assert log.read_text().startswith(f"{executions}get_weather\n20")
    assert log.read_text().endswith(f" {run}\n")
    fork, _ = fork_of(server, allowance)
    # Bern, and the values of the prompt.
    first_steps = [TOOL, *[ANSWERED_TOOL] * 3]
    assert labels(fork.steps(10)) == [*first_steps, LIVE, ANSWERED_TOOL, ANSWERED_TOOL, LIVE, ANSWERED_TOOL, LIVE]
    assert [decision(server, run, name) for name in ("get_weather", "get_time")] == ["refusal", "refusal"]
    review = {"decisions": [{"name": "get_time", "safe": True}]}
    assert httpx2.put(f"{server.url}/api/v1/tools", json=review, trust_env=False).status_code == 200
    assert [decision(server, run, name) for name in ("get_weather", "get_time")] == ["refusal", "run"]


def test_fork_has_every_step_of_its_agent(server: Server, models: ModelServer, tmp_path: Path) -> None:
    check = 'with recorder.validator("{}", input={}) as check:\n    check.decide(True)\n'
    begin = "recorder = forkpoint.recorder\nrun = recorder.run('desk').__enter__()\n"
    begin += check.format("polite", '"please"') + "agent = recorder.agent('desk', input='go').__enter__()\n"
    end = check.format("answered", "message.content") + "agent.output = message.content\nagent.end()\nrun.end()\n"
    program = TOOL_AGENT.replace("client =", f"{begin}client =") + end
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
        # The agent wrote the members of a result in another order than the store.
        *(EXACT, ANSWERED_TOOL, ANSWERED_TOOL, ("model", "cached", "cache_hit_normalised")),
        *(ANSWERED_TOOL, LIVE, ("validator", "simulated", "agent_ran")),
    ]


def test_sdk_reports_tools_of_an_agent_behind_the_gateway(server: Server, models: ModelServer, tmp_path: Path) -> None:
    log = tmp_path / "executions"
    first = record(server, TOOL_AGENT, str(log))
    assert (first.returncode, first.stdout) == (0, f"{ANSWER} False\n"), first.stderr
    run = run_of(first)
    steps = GatewaySession(server, "", run).steps(9)
    values = ["forkpoint.now", "forkpoint.random", "forkpoint.uuid"]
    tools = ["model", "get_weather", "get_time", "model", "get_weather", "model"]
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
    assert outcomes["get_weather"] == ({"city": "Lima", "degrees": 21}, "")
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
    id = post(server, "/api/v1/reruns", {"run": run, "live": True, "allow_tools": ["send_letter"]})["id"]
    question = {"type": "tool", "name": "send_letter", "arguments": {"city": "Bern"}}
    answers = [post(server, f"/api/v1/reruns/{id}/tools", question) for _ in range(2)]
    assert [answer["decision"] for answer in answers] == ["run", "run"]
    post(server, f"/api/v1/reruns/{id}/resume", {})
    refusal = post(server, f"/api/v1/reruns/{id}/tools", question)
    assert refusal["decision"] == "refusal"
    assert "send_letter ran before the agent was started again" in refusal["reason"]


def runs_of(server: Server, app: str) -> list[str]:
    return [run["id"] for run in get(server, f"/runs?app={app}")["runs"] if run["status"] != "running"]


def decision(server: Server, run: str, tool: str) -> str:
    """Return what becomes of a call that is not in the recording."""
    reruns = f"{server.url}/api/v1/reruns"
    id = httpx2.post(reruns, json={"run": run}, trust_env=False).json()["id"]
    question = {"type": "tool", "name": tool, "arguments": {"city": "Bern"}}
    return str(httpx2.post(f"{reruns}/{id}/tools", json=question, trust_env=False).json()["decision"])


def test_agent_killed_during_a_live_call_gets_its_answer(server: Server, models: ModelServer, run: str) -> None:
    changes = {"overrides": {"overrides": [{"match": {"type": "model"}, "model": {"model": "m3"}}]}, "live": True}
    session = post(server, "/api/v1/reruns", {"run": run, **changes})
    path = f"{session['path']}/openai/v1/chat/completions"
    first, second = ({"model": "m1", "messages": [{"role": "user", "content": text}]} for text in ("Time?", "Date?"))
    before = len(models.requests)
    models.is_open.clear()
    with ThreadPoolExecutor() as pool:
        try:
            hang_up(server, path, first, lambda: new(models, before))
            post(server, f"/api/v1/reruns/{session['id']}/resume", {})
            answers = [pool.submit(post, server, path, question) for question in (first, second)]
            wait_until(lambda: len(new(models, before)) > 1, 30)
        finally:
            models.is_open.set()
        messages = [answer.result()["choices"][0]["message"]["content"] for answer in answers]
    assert messages == [ANSWER, ANSWER]
    assert [body["messages"] for _, body in new(models, before)] == [first["messages"], second["messages"]]


def hang_up(server: Server, path: str, body: Any, has_arrived: Callable[[], Any]) -> None:
    """Send a request, and close the connection when it has reached the provider."""
    address, content = urlsplit(server.url), json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: {address.netloc}\r\ncontent-length: {len(content)}\r\n\r\n"
    with socket.create_connection((str(address.hostname), int(address.port or 0))) as agent:
        agent.sendall(head.encode() + content)
        wait_until(has_arrived, 30)


def post(server: Server, path: str, body: Any) -> Any:
    response = httpx2.post(server.url + path, json=body, timeout=patience_s(60), trust_env=False)
    assert response.is_success, response.text
    return response.json()
