"""Overrides of documents and of arguments while the agent runs: its SDK asks before each call."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.model_server import ANSWER, ModelServer
from tests.integration.recordings.forks.test_model_calls import new, profile
from tests.integration.recordings.forks.test_tools import NODE_AGENT, ROOT
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS, HANDBOOK_AGENT, SUBAGENTS, TOOL_AGENT
from tests.support.gateway_runs import ANSWERED_TOOL, LIVE, fork_of, get, labels, post, record, rerun, run_of
from tests.support.http import HTTP
from tests.support.patience import wait_until

OVERRIDE = ("simulated", "simulation_operator_override")
RAN = ("simulated", "agent_ran")


@pytest.mark.parametrize(
    ("retrieval", "text", "search", "label"),
    [
        ({"documents": [{"id": "x", "content": "No refunds."}]}, "No refunds.", "", OVERRIDE),
        ({"documents": []}, "", "", OVERRIDE),
        ({"top_k": 1}, "refunds 1", "", OVERRIDE),
        ({"top_k": 3}, "refunds 1; refunds 2; refunds 3", "refunds 3\n", RAN),
        ({"query": "returns"}, "returns 1; returns 2", "returns 2\n", RAN),
    ],
)
def test_search_has_the_documents_of_an_override(
    server: Server, models: ModelServer, tmp_path: Path, retrieval: Any, text: str, search: str, label: tuple[str, str]
) -> None:
    log = tmp_path / "log"
    run = run_of(record(server, HANDBOOK_AGENT, str(log)))
    log.write_text("")
    before = len(models.requests)
    options = ["--overrides", profile(tmp_path, {"match": {"type": "retrieval"}, "retrieval": retrieval}), "--live"]
    result = rerun(server, run, HANDBOOK_AGENT, str(log), options=options)
    assert (result.returncode, result.stdout.strip(), log.read_text()) == (0, ANSWER, search), result.stderr
    assert [body["messages"][0]["content"] for _, body in new(models, before)] == [text]
    fork, _ = fork_of(server, result)
    step, model = fork.steps(2)
    assert labels([step, model]) == [("retrieval", *label), LIVE]
    assert "; ".join(document["content"] for document in step["output"]["documents"]) == text
    settings = {} if label == OVERRIDE else retrieval
    assert step["input"] == {"query": "refunds", **settings}


def test_search_without_the_argument_of_an_override_is_refused(server: Server, tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    run = run_of(record(server, HANDBOOK_AGENT, log))
    entry = {"match": {"type": "retrieval"}, "retrieval": {"filters": {"year": 2026}}}
    result = rerun(server, run, HANDBOOK_AGENT, log, options=["--overrides", profile(tmp_path, entry)])
    assert result.returncode == 5, result.stderr
    assert "handbook cannot run with the arguments of an override: it has no argument “filters”" in result.stderr


def test_call_with_other_arguments_has_what_is_recorded_for_them(
    server: Server, models: ModelServer, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    run = run_of(record(server, TOOL_AGENT, str(log)))
    executions, before = log.read_text(), len(models.requests)
    # After the time, a number and an id, and the first model call.
    entry = {"match": {"step": 5}, "arguments": {"city": "Lima"}}
    options = ["--overrides", profile(tmp_path, entry), "--live"]
    result = rerun(server, run, TOOL_AGENT, str(log), options=options)
    assert (result.returncode, log.read_text()) == (0, executions), result.stderr
    contents = [
        [item["content"] for item in body["messages"] if item["role"] == "tool"] for _, body in new(models, before)
    ]
    assert [json.loads(contents[0][0]), contents[0][1]] == [{"city": "Lima", "degrees": 21}, "Zürich: no clock"]
    fork, _ = fork_of(server, result)
    first, clock, last = [step for step in fork.steps(9) if step["name"].startswith("get_")]
    assert (first["label"], first["reason"]) == ("cached", "cache_hit_signature_match")
    assert (first["input"], first["attributes"]["asked"]) == ({"city": "Lima"}, {"city": "Zürich"})
    assert first["detail"]["matched"] == {"run": run, "step": 8}
    assert labels([clock, last]) == [ANSWERED_TOOL] * 2


def test_call_with_other_arguments_runs_with_them_if_it_may(
    server: Server, models: ModelServer, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    run = run_of(record(server, TOOL_AGENT, str(log)))
    executions, before = log.read_text(), len(models.requests)
    options = ["--overrides", profile(tmp_path, {"match": {"step": 5}, "arguments": {"city": "Oslo"}}), "--live"]
    refusal = rerun(server, run, TOOL_AGENT, str(log), options=options)
    assert (refusal.returncode, log.read_text()) == (5, executions)
    assert "this call of get_weather gets its arguments from an override, and is in no recording" in refusal.stderr
    result = rerun(server, run, TOOL_AGENT, str(log), options=[*options, "--allow-tool", "get_weather"])
    assert (result.returncode, log.read_text()) == (0, f"{executions}get_weather\n"), result.stderr
    assert '"city": "Oslo"' in str(new(models, before)[0][1]["messages"])
    fork, _ = fork_of(server, result)
    [first, *_] = [step for step in fork.steps(9) if step["name"] == "get_weather"]
    assert (first["label"], first["reason"], first["output"]["city"]) == (*RAN, "Oslo")
    assert (first["input"], first["attributes"]["asked"]) == ({"city": "Oslo"}, {"city": "Zürich"})
    other = run_of(record(server, TOOL_AGENT.replace("functions =", "get_weather('Oslo')\nfunctions ="), str(log)))
    wait_until(lambda: get(server, f"/runs/{other}")["sealed"], 30)
    executions = log.read_text()
    again = rerun(server, run, TOOL_AGENT, str(log), options=options)
    assert "get_weather: 1 exact, 1 cached" in again.stderr
    assert log.read_text() == executions


def test_call_of_a_node_agent_runs_with_other_arguments(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = (str(ROOT / "scripts/with-node"), str(NODE_AGENT), str(log), str(ROOT / "forkpoint/node/index.js"))
    program = 'exec "$0" node "$@"'
    run = run_of(record(server, program, *words, python=("sh",)))
    entry = {"match": {"step": 5}, "arguments": {"city": "Bergen"}}
    options = ["--overrides", profile(tmp_path, entry), "--live", "--allow-tool", "get_weather"]
    result = rerun(server, run, program, *words, python=("sh",), options=options)
    assert result.returncode == 0, result.stderr
    fork, _ = fork_of(server, result)
    [first, *_] = [step for step in fork.steps(9) if step["name"] == "get_weather"]
    assert (first["input"], first["output"]["city"]) == ({"city": "Bergen"}, "Bergen")
    assert (first["label"], first["reason"], first["attributes"]["asked"]) == (*RAN, {"city": "Zürich"})


def test_call_that_the_sdk_does_not_know_cannot_have_other_arguments(server: Server, run: str, tmp_path: Path) -> None:
    options = ["--overrides", profile(tmp_path, {"match": {"step": 2}, "arguments": {"city": "Lima"}})]
    result = rerun(server, run, AGENTS["chat"], "plain", options=options)
    assert result.returncode == 5, result.stderr
    assert "step 2 cannot be overridden: the agent made no such call that its SDK knows" in result.stderr


def test_operator_decides_about_a_call_with_other_arguments(server: Server, tmp_path: Path) -> None:
    run = run_of(record(server, TOOL_AGENT, str(tmp_path / "log")))
    wait_until(lambda: get(server, f"/runs/{run}")["sealed"], 30)
    overrides = {"overrides": [{"match": {"step": 5}, "arguments": {"city": "Rome"}}]}
    id = post(server, "/api/v1/reruns", {"run": run, "overrides": overrides, "ask_tools": ["get_*"]})["id"]

    def ask(**fields: Any) -> Any:
        question = {"type": "tool", "name": "get_weather", "arguments": {"city": "Zürich"}, "call": "c1", **fields}
        return post(server, f"/api/v1/reruns/{id}/tools", question)

    assert ask()["decision"] == "ask"
    [question] = get(server, f"/reruns/{id}/questions")["questions"]
    assert (question["arguments"], question["may_run"]) == ({"city": "Rome"}, True)
    assert "whose arguments an override sets" in question["text"]
    # Another call of the same arguments is not the recorded one that waits.
    assert ask(call="c2", is_last=True)["decision"] == "refusal"
    post(server, f"/api/v1/reruns/{id}/questions", {"sequence_no": question["sequence_no"], "action": "run"})
    answer = ask()
    assert (answer["decision"], answer["arguments"]) == ("run", {"city": "Rome"})
    assert ask(call="c3")["decision"] == "ask"
    assert ask(call="c3", is_last=True)["reason"] == "no operator answered this call of get_weather in time"
    assert get(server, f"/reruns/{id}/questions")["questions"] == []
    [tool] = get(server, f"/reruns/{id}")["tools"]
    assert (tool["run"], tool["refusal"]) == (1, 2)
    # No server asked its client during these calls.
    for call, reason in (("c1", "the client answered 0 questions"), ("c9", "no call of get_weather with this id")):
        question = {"type": "tool", "name": "get_weather", "arguments": {}, "call": call, "client_answers": [{}]}
        response = HTTP.post(f"{server.url}/api/v1/reruns/{id}/tools", json=question)
        assert (response.status_code, reason in response.json()["detail"]) == (409, True)


def test_tool_whose_model_call_is_changed_is_not_answered_as_recorded(
    server: Server, models: ModelServer, tmp_path: Path
) -> None:
    """Two such tools at once: only the client library knows which of them makes a call."""
    log = tmp_path / "log"
    run = run_of(record(server, SUBAGENTS, str(log)))
    executions, before = log.read_text(), len(models.requests)
    same = rerun(server, run, SUBAGENTS, str(log))
    assert (same.returncode, log.read_text()) == (0, executions), same.stderr
    options = ["--set-prompt", "Be short.", "--live"]
    refusal = rerun(server, run, SUBAGENTS, str(log), options=options)
    assert (refusal.returncode, log.read_text(), len(models.requests)) == (5, executions, before)
    assert "which the fork changes" in refusal.stderr
    result = rerun(server, run, SUBAGENTS, str(log), options=[*options, "--allow-tool", "research"])
    assert (result.returncode, log.read_text()) == (0, executions * 2), result.stderr
    fork, _ = fork_of(server, result)
    steps = fork.steps(4)
    tools = {step["sequence_no"]: step for step in steps if step["name"] == "research"}
    assert labels([*tools.values()]) == [("tool", "simulated", "agent_ran")] * 2
    assert {step["parent"] for step in steps if step["type"] == "model"} == {*tools}
