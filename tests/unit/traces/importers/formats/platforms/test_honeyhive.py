import copy
from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source

EVENTS: Any = orjson.loads((fixtures.FOLDER / "honeyhive.json").read_bytes())["events"]
CALL = {"id": "c1", "name": "stock", "arguments": {"title": "Dune"}}


def run_of(events: Any, *, is_lines: bool = False) -> RecordedRun:
    data = b"\n".join(map(orjson.dumps, events)) if is_lines else orjson.dumps({"events": events})
    name = "events.jsonl" if is_lines else "events.json"
    (run,) = registry.detect(fixtures.sample(name, data)).runs([Source(name=name, data=data)])
    return run


@pytest.mark.parametrize("is_lines", [False, True])
def test_session_has_its_agents_calls_and_tools(is_lines: bool) -> None:
    run = run_of(EVENTS, is_lines=is_lines)
    session, agent, first, tool, second = run.steps
    assert (run.external_id, run.app, run.metadata) == ("s1", "shop", {"release": "7"})
    assert [(session.type, agent.type), (agent.parent, first.parent)] == [
        (StepType.AGENT, StepType.AGENT),
        ("s1", "a1"),
    ]
    assert (first.input, first.tokens_in, first.tokens_out) == (
        {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.1}},
        20,
        5,
    )
    answer: Any = first.output
    assert (answer["message"]["tool_calls"], answer["finish_reason"]) == ([CALL], "tool_calls")
    assert (tool.type, tool.name, tool.call_id, tool.input, tool.output) == (
        StepType.TOOL,
        "stock",
        "c1",
        {"title": "Dune"},
        "2 copies",
    )
    request: Any = second.input
    assert request["messages"][-1] == {"role": "tool", "content": "2 copies", "tool_call_id": "c1"}
    assert [(score.name, score.value, score.step) for score in run.judgements] == [
        ("tone", 0.5, "m2"),
        ("rating", 1.0, None),
    ]


def test_call_may_name_its_type_and_state_its_cost_or_fail() -> None:
    events = copy.deepcopy(EVENTS)
    events[0]["outputs"]["content"] = [{**events[0]["outputs"]["content"][0]["toolUse"], "type": "toolUse"}]
    events[0]["metadata"]["cost"] = 0.5
    events[2] |= {"error": "no quota", "outputs": {}}
    first, last = (step for step in run_of(events).steps if step.type is StepType.MODEL)
    answer: Any = first.output
    assert (answer["message"]["tool_calls"], first.cost_usd) == ([CALL], Decimal("0.5"))
    assert (last.status, last.error, last.output) == ("error", "no quota", None)


def test_traced_functions_are_tools_unless_they_contain_others() -> None:
    events = copy.deepcopy(EVENTS)
    events[1] |= {"event_name": "stock", "config": {}, "metadata": {}, "inputs": {"_params_": {"title": "Dune"}}}
    events[3]["metadata"] = {}
    steps = {step.key: step for step in run_of(events).steps}
    assert (steps["t1"].type, steps["t1"].input, steps["a1"].type) == (StepType.TOOL, {"title": "Dune"}, StepType.AGENT)
