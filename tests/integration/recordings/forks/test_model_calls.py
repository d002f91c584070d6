"""Forks in which the agent itself runs again: overrides on requests, live calls, and the run that becomes of it."""

import json
import socket
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS, ALLOW_TOOLS, GEMINI_AGENT, PLAIN_TOOLS, SEARCH_AGENT
from tests.support.gateway_runs import (
    ANSWERED_TOOL,
    CACHED,
    EXACT,
    LIVE,
    SAME_TOOL,
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
from tests.support.patience import patience_s, wait_until


def profile(folder: Path, *entries: Any) -> str:
    path = folder / "overrides.json"
    path.write_text(json.dumps({"overrides": entries}))
    return str(path)


def new(models: ModelServer, before: int) -> list[tuple[str, dict[str, Any]]]:
    return models.requests[before:]


def system_prompt(body: dict[str, Any]) -> Any:
    return body.get("system") or body.get("instructions") or body["messages"][0]["content"]


@pytest.mark.parametrize(("api", "mode"), [("chat", "plain"), ("responses", "stream"), ("anthropic", "stream")])
def test_changed_prompt_and_model_go_live_and_become_a_run(
    server: Server, models: ModelServer, api: str, mode: str
) -> None:
    run = run_of(record(server, AGENTS[api], mode))
    # Of each API its own: an answer of another one is an answer to the same question.
    before, prompt = len(models.requests), f"Answer in verse of {api}."
    options = ["--set-prompt", prompt, "--set-model", "m2", "--live"]
    result = rerun(server, run, AGENTS[api], mode, options=options)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    requests = [(body["model"], system_prompt(body)) for _, body in new(models, before)]
    assert requests == [("m2", prompt)] * 3
    fork, diff = fork_of(server, result)
    steps = fork.steps(6)
    assert labels(steps) == [LIVE, TOOL, TOOL, LIVE, TOOL, LIVE]
    assert steps[0]["input"]["messages"][0]["content"] == prompt
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
    result = rerun(server, run, AGENTS["chat"], "stream", options=["--overrides", overrides, "--from", "2", "--live"])
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
    # Whether the SDK knows it or not, it knows no other tool.
    options = ["--overrides", profile(tmp_path, entry), "--live", *ALLOW_TOOLS]
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
    assert "step 3 cannot be overridden: the agent made no such call that its SDK knows" in refusal.stderr
    assert len(models.requests) == before + 2


def test_without_live_calls_a_changed_call_is_refused(
    server: Server, models: ModelServer, run: str, tmp_path: Path
) -> None:
    before = len(models.requests)
    result = rerun(server, run, AGENTS["chat"], "plain", options=["--set-prompt", "Be brief.", "--step", "4"])
    assert result.returncode == 5
    assert "`live` allows calls of the provider" in result.stderr, result.stderr
    assert ": 1 call exact, 1 without an answer" in result.stderr
    answer = profile(tmp_path, {"match": {"step": 4}, "output": "Noon."})
    result = rerun(server, run, AGENTS["chat"], "plain", options=["--overrides", answer])
    assert (result.returncode, result.stdout.strip(), new(models, before)) == (0, "Noon.", []), result.stderr
    fork, _ = fork_of(server, result)
    assert labels(fork.steps(4))[3] == ("model", "simulated", "simulation_operator_override")


def test_provider_that_no_agent_can_ask_is_refused(server: Server, run: str, tmp_path: Path) -> None:
    provider = profile(tmp_path, {"match": {"type": "model"}, "model": {"provider": "other"}})
    result = rerun(server, run, "print('it ran')", options=["--overrides", provider])
    assert (result.returncode, result.stdout) == (2, "")
    assert "“other” is not configured" in result.stderr


def test_other_provider_is_asked_with_its_own_key(
    server: Server, models: ModelServer, run: str, tmp_path: Path
) -> None:
    before = len(models.requests)
    provider = profile(tmp_path, {"match": {"step": 4}, "model": {"provider": "second-openai", "model": "m3"}})
    options = ["--overrides", provider, "--live"]
    result = rerun(server, run, AGENTS["chat"], "plain", options=options)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    assert [(path, body["model"]) for path, body in new(models, before)] == [("/second/chat/completions", "m3")]
    assert models.keys[before:] == ["Bearer sk-second"]
    assert "live calls of all starts: 1, cost unknown" in result.stderr
    steps = fork_of(server, result)[0].steps(4)
    assert (steps[0]["provider"], steps[3]["provider"], steps[3]["model"]) == ("openai", "second-openai", "m3")


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
    session = post(server, "/api/v1/reruns", {"run": run, "live": True, "budget": budget, "allow_tools": PLAIN_TOOLS})
    problems = []
    for text in ("Time?", "Date?"):
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        address = f"{server.url}{session['path']}/openai/v1/chat/completions"
        response = HTTP.post(address, json=body, timeout=patience_s(60))
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
    assert run_agent(server, ["rerun", "--resume", id], program, "stream").returncode == 1


def test_agent_killed_during_a_live_call_gets_its_answer(server: Server, models: ModelServer, run: str) -> None:
    changes = {"overrides": {"overrides": [{"match": {"type": "model"}, "model": {"model": "m3"}}]}, "live": True}
    session = post(server, "/api/v1/reruns", {"run": run, "allow_tools": PLAIN_TOOLS, **changes})
    path = f"{session['path']}/openai/v1/chat/completions"
    first, second = ({"model": "m1", "messages": [{"role": "user", "content": text}]} for text in ("Time?", "Date?"))
    before = len(models.requests)
    models.is_open.clear()
    with ThreadPoolExecutor() as pool:
        try:
            hang_up(server, path, first, lambda: new(models, before))
            again = post(server, f"/api/v1/reruns/{session['id']}/resume", {})
            new_path = path.replace(session["path"], again["path"])
            answers = [pool.submit(post, server, new_path, question) for question in (first, second)]
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
