"""Agents whose model has no tool calls: they request tools in text, and see their results in the prompt."""

import json
import re

import pytest

from tests.agents.catalogue import TEXT_TOOLS
from tests.agents.desk import Desk
from tests.agents.test_agents import TOOLS, profile
from tests.clients.model_server import ANSWER

pytestmark = [
    pytest.mark.own_store,
    pytest.mark.framework,
    pytest.mark.parametrize("desk", TEXT_TOOLS, ids=lambda agent: agent.name, indirect=True, scope="module"),
]


@pytest.fixture(scope="module")
def run(desk: Desk) -> str:
    run, outcome = desk.record()
    assert (outcome.out, sorted(outcome.executions)) == (ANSWER, TOOLS)
    # DSPy's last two calls end the loop, and make the answer.
    assert len(outcome.requests) == (5 if desk.agent.name == "DSPy" else 4)
    return run


def test_rerun_asks_nobody(desk: Desk, run: str) -> None:
    again = desk.run("rerun", run)
    assert (again.code, again.out, again.requests, again.executions) == (0, ANSWER, [], []), again.err
    assert re.search(r": [45] calls exact\n", again.err), again.err


def test_changed_arguments(desk: Desk, run: str) -> None:
    time = {"match": {"type": "tool", "name": "get_time"}, "arguments": {"city": "Oslo"}}
    options = ("--overrides", profile(desk, time), "--live")
    refusal = desk.run("rerun", run, *options)
    assert (refusal.code, refusal.executions) == (5, []), refusal.err
    fork = desk.run("rerun", run, *options, "--allow-tool", "get_time")
    assert (fork.code, fork.out, fork.executions) == (0, ANSWER, ["get_time"]), fork.err
    bodies = [json.dumps(body, ensure_ascii=False) for body in fork.requests]
    assert {("noon in Oslo" in body, "noon in Zürich" in body) for body in bodies} == {(True, False)}
