"""Memories of CAMEL's agents, and results of OWL."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, StepType


def record(role: Any, second: int, agent: str = "a-1", **message: Any) -> Any:
    message = {"role_name": "Clerk", "meta_dict": None, "content": "", "__class__": "BaseMessage", **message}
    return {"role_at_backend": role, "message": message, "agent_id": agent, "timestamp": 1_700_000_000 + second}


def test_memories_are_runs_of_their_agents() -> None:
    call = {"func_name": "find", "tool_call_id": "c1"}
    lines = [
        record("system", 0, content="Be kind."),
        record({"__enum__": "OpenAIBackendRole.USER"}, 1, content="Is Dune in stock?"),
        record("assistant", 2, **call, args={"title": "Dune"}, result=None),
        record("function", 3, **call, args=None, result={"copies": 3}),
        record("assistant", 4, content="3 copies"),
        record("user", 5, agent="a-2", content="And Emma?"),
        record("assistant", 6, agent="a-2", content="No."),
    ]
    runs, problems = fixtures.detect_and_read("camel", fixtures.json_lines(lines))
    assert ([run.metadata["agent_id"] for run in runs], problems) == (["a-1", "a-2"], [])
    (tool,) = fixtures.steps(runs[0], StepType.TOOL)
    assert (tool.input, tool.output, tool.call_id) == ({"title": "Dune"}, '{"copies":3}', "c1")
    assert fixtures.answer_contents(runs[0]) == [None, "3 copies"]
    (model, _) = fixtures.steps(runs[0], StepType.MODEL)
    assert (fixtures.request_contents(model), str(model.ended_at)[17:19]) == (["Be kind.", "Is Dune in stock?"], "22")


def test_results_of_owl_have_both_agents() -> None:
    call = {"tool_name": "find", "args": {"title": "Dune"}, "result": [3], "tool_call_id": "c1"}
    history = [
        {"user": "Search the shelf.", "assistant": "Solution: 3", "tool_calls": [call]},
        {"user": "TASK_DONE", "assistant": "Done.", "tool_calls": []},
    ]
    result = {"task_id": "t1", "question": "How many?", "model_answer": "3", "score": True, "history": history}
    ((run,), problems) = fixtures.detect_and_read("camel", orjson.dumps([result]))
    assert [step.name for step in fixtures.steps(run, StepType.AGENT)[1:]] == ["user agent", "assistant"] * 2
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.output) == ("find", {"title": "Dune"}, [3])
    # The agent of the user sees no results of tools.
    assert fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[3]) == [
        "How many?",
        "Search the shelf.",
        "Solution: 3",
    ]
    assert [(item.name, item.kind) for item in run.judgements] == [("is_correct", JudgementKind.PASS)]
    assert (run.steps[-1].output, run.tags, problems) == ({"text": "3"}, ("task:t1",), [])
