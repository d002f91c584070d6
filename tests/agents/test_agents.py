"""Every agent is recorded, run again, forked, killed and compared, with no change to its code."""

import json
from typing import Any

import pytest

from tests.agents.catalogue import AGENTS, LIGHT
from tests.agents.desk import Desk, Outcome
from tests.clients.model_server import ANSWER

PARAMETERS = [
    pytest.param(agent, id=agent.name, marks=() if agent in LIGHT else pytest.mark.framework) for agent in AGENTS
]
pytestmark = [
    pytest.mark.own_store,
    pytest.mark.parametrize("desk", PARAMETERS, indirect=True, scope="module"),
]
TOOLS = ["get_time", "get_weather", "get_weather"]
VERSE = ("--set-prompt", "Answer in verse.", "--live")


@pytest.fixture(scope="module")
def recording(desk: Desk) -> tuple[str, Outcome]:
    return desk.record()


@pytest.fixture
def run(recording: tuple[str, Outcome]) -> str:
    return recording[0]


def tools_that_run(desk: Desk) -> list[str]:
    """Return the tools that really run where all calls are in the recording."""
    return [] if desk.agent.has_known_tools else TOOLS


def profile(desk: Desk, *entries: Any) -> str:
    path = desk.folder / "overrides.json"
    path.write_text(json.dumps({"overrides": entries}))
    return str(path)


def match(desk: Desk, name: str) -> dict[str, str]:
    return {"type": "tool", "name": desk.agent.tool(name)}


def test_recording(desk: Desk, recording: tuple[str, Outcome]) -> None:
    run, outcome = recording
    assert (outcome.out, len(outcome.requests), sorted(outcome.executions)) == (ANSWER, 3, TOOLS)
    # The newest clients first ask a server of MCP for a protocol that older ones refuse.
    steps = [step for step in desk.steps(run) if step["name"] != "mcp.server/discover"]
    assert [step["status"] for step in steps] == ["ok"] * len(steps)
    is_inside = [step["parent"] is not None for step in steps if step["type"] == "model"]
    assert is_inside == [desk.agent.has_agent_steps] * 3
    # Others are the final answer of a framework, and what a client asks an MCP server of itself.
    tools = [desk.agent.tool(name) for name in TOOLS]
    assert sorted(step["tool_name"] for step in steps if step["tool_name"] in tools) == tools


def test_rerun_asks_nobody(desk: Desk, run: str) -> None:
    again = desk.run("rerun", run)
    assert (again.code, again.out, again.requests) == (0, ANSWER, []), again.err
    assert "3 calls exact\n" in again.err or (not desk.agent.has_ordered_results and " cached" in again.err)
    assert sorted(again.executions) == tools_that_run(desk)


def test_changed_prompt(desk: Desk, run: str) -> None:
    fork = desk.run("rerun", run, *VERSE)
    assert (fork.code, fork.out) == (0, ANSWER), fork.err
    assert ["Answer in verse." in json.dumps(body) for body in fork.requests] == [True] * 3
    assert sorted(fork.executions) == tools_that_run(desk)
    report = desk.get(f"/diffs/{fork.id('Diff')}")
    assert (report["base"]["id"], report["candidate"]["id"]) == (run, fork.id("Fork"))


def test_other_model(desk: Desk, run: str) -> None:
    fork = desk.run("rerun", run, "--set-model", "m2", "--live")
    assert (fork.code, fork.out, len(fork.requests)) == (0, ANSWER, 3), fork.err
    assert {step["model"] for step in desk.steps(fork.id("Fork")) if step["type"] == "model"} == {"m2"}


def test_changed_result(desk: Desk, run: str) -> None:
    override = profile(desk, {"match": match(desk, "get_time"), "tool": {"output": "midnight"}})
    fork = desk.run("rerun", run, "--overrides", override, "--live")
    assert (fork.code, fork.out) == (0, ANSWER), fork.err
    assert ": 1 call exact, 2 live\n" in fork.err
    results = [("midnight" in text, "noon in" in text) for text in map(json.dumps, fork.requests)]
    assert results == [(True, False)] * 2


def test_changed_arguments(desk: Desk, run: str) -> None:
    """A call gets what is recorded for its new arguments. If nothing is, its tool runs with them if it may."""
    weather = {"match": match(desk, "get_weather"), "arguments": {"city": "Lima"}}
    time = {"match": match(desk, "get_time"), "arguments": {"city": "Oslo"}}
    options = ("--overrides", profile(desk, weather, time), "--live")
    refusal = desk.run("rerun", run, *options)
    assert refusal.code == 5, refusal.err
    if not desk.agent.has_known_tools:
        assert refusal.requests == []
        assert "the agent made no such call that its SDK knows" in refusal.err
        return
    assert refusal.executions == []
    # A client of an MCP server tells the model.
    message = f"this call of {desk.agent.tool('get_time')} gets its arguments from an override, and is in no recording"
    assert message in refusal.err + json.dumps(refusal.requests)
    fork = desk.run("rerun", run, *options, "--allow-tool", desk.agent.tool("get_time"))
    assert (fork.code, fork.out, fork.executions) == (0, ANSWER, ["get_time"]), fork.err
    bodies = [json.dumps(body, ensure_ascii=False) for body in fork.requests]
    assert [("noon in Oslo" in body, "degrees in Lima" in body) for body in bodies] == [(True, True)] * 2
    assert [text for text in ("noon in Zürich", "degrees in Zürich") if text in str(bodies)] == []
    steps = {step["tool_name"]: step for step in reversed(desk.steps(fork.id("Fork"))) if step["tool_name"]}
    facts = [
        (steps[name]["input"], steps[name]["attributes"]["asked"], steps[name]["label"], steps[name]["reason"])
        for name in map(desk.agent.tool, ("get_weather", "get_time"))
    ]
    assert facts == [
        ({"city": "Lima"}, {"city": "Zürich"}, "cached", "cache_hit_signature_match"),
        ({"city": "Oslo"}, {"city": "Zürich"}, "simulated", "agent_ran"),
    ]


def test_unknown_arguments(desk: Desk, run: str) -> None:
    """The complaint of a framework about them would reach the model as the tool's result, as that of a server does."""
    if not desk.agent.has_known_tools:
        return
    override = profile(desk, {"match": match(desk, "get_time"), "arguments": {"town": "Oslo"}})
    fork = desk.run("rerun", run, "--overrides", override, "--live", "--allow-tool", desk.agent.tool("get_time"))
    assert fork.executions == []
    if not desk.agent.has_known_parameters:
        assert (fork.code, "validation error" in json.dumps(fork.requests)) == (0, True), fork.err
        return
    assert (fork.code, fork.requests) == (5, []), fork.err
    assert (
        f"{desk.agent.tool('get_time')} cannot run with the arguments of an override: it has no argument “town”"
        in fork.err
    )


def test_tool_of_another_call_runs_only_if_allowed(desk: Desk, run: str) -> None:
    question = ("--set-prompt", "Ask about Bern.", "--live")
    refusal = desk.run("rerun", run, *question)
    if not desk.agent.has_known_tools:
        assert (refusal.code, sorted(refusal.executions)) == (0, TOOLS)
        return
    assert (refusal.code, refusal.executions) == (5, []), refusal.err
    # A client of an MCP server tells the model.
    told = refusal.err + json.dumps(refusal.requests)
    assert f"this call of {desk.agent.tool('get_weather')} is not in the recording" in told
    allowance = desk.run("rerun", run, *question, "--allow-tool", desk.agent.tool("get_weather"))
    assert (allowance.code, allowance.out, allowance.executions) == (0, ANSWER, ["get_weather"]), allowance.err


def test_tools_that_no_run_called_ask_for_themselves(desk: Desk) -> None:
    """Only the agent itself shows that they do: nothing is known of them before it starts."""
    desk.models.answers_at_once = True
    try:
        run, outcome = desk.record(app=f"at once, {desk.agent.name}")
    finally:
        desk.models.answers_at_once = False
    assert outcome.executions == []
    refusal = desk.run("rerun", run, "--set-prompt", "Answer in prose.", "--live", consents=False)
    assert (refusal.code, refusal.executions) == (5, []), refusal.err
    told = refusal.err + json.dumps(refusal.requests)
    is_held_back = "the model's answer calls" in told
    assert is_held_back is not desk.agent.has_known_tools, refusal.err
    assert (" is not in the recording. It may have side effects" in told) is desk.agent.has_known_tools


def test_agent_killed_in_a_call_goes_on_without_another(desk: Desk, run: str) -> None:
    place = 1 + AGENTS.index(desk.agent) % 3
    first = desk.run_and_kill(place, "rerun", run, "--set-model", f"m-{place}", "--live")
    assert (first.code, len(first.requests)) == (137, place), first.err
    again = desk.run("rerun", "--resume", first.rerun)
    assert (again.code, again.out, len(again.requests)) == (0, ANSWER, 3 - place), again.err
    assert sorted(again.executions) == tools_that_run(desk)
    steps = [step for step in desk.steps(again.id("Fork")) if step["type"] == "model"]
    assert [step["label"] for step in steps] == ["simulated"] * 3
