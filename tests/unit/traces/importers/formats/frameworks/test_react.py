"""Logs of ReAct agents."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, StepStatus, StepType

STEPS: list[Any] = [
    {"thought": "I look at the shelf.", "action": "search[Dune]", "observation": "3 copies"},
    {"thought": "That is enough.", "action": "finish[three]", "observation": ""},
]


def read(body: Any) -> RecordedRun:
    ((run,), problems) = fixtures.detect_and_read("react", orjson.dumps(body))
    assert problems == []
    return run


def test_log_has_its_task_calls_and_verdict() -> None:
    facts = {"model": "gpt-4o", "success": True, "score": 0.5}
    logs = [{"task_id": f"t{number}", "task": "Count Dune.", **facts, "trajectory": STEPS} for number in range(2)]
    runs, problems = fixtures.detect_and_read("react", fixtures.json_lines(logs))
    assert (len({run.external_id for run in runs}), problems) == (2, [])
    first, last = fixtures.steps(runs[0], StepType.MODEL)
    assert fixtures.request_contents(first) == ["Count Dune."]
    assert (first.model, fixtures.answer_contents(runs[0])) == ("gpt-4o", ["I look at the shelf.", "That is enough."])
    assert fixtures.request_contents(last)[-1] == "3 copies"
    search, finish = fixtures.steps(runs[0], StepType.TOOL)
    assert (search.name, search.input, search.output) == ("search", {"input": "Dune"}, "3 copies")
    assert (finish.name, finish.status, runs[0].steps[-1].output) == ("finish", StepStatus.OK, {"text": "three"})
    kinds = {item.name: item.kind for item in runs[0].judgements}
    assert kinds == {"success": JudgementKind.PASS, "score": JudgementKind.SCORE}


@pytest.mark.parametrize(
    "body",
    [
        {
            "question": "q",
            "history": [{"Thought": "t", "Action": "find", "Action Input": '{"q": 1}', "Observation": "o"}],
        },
        {"input": "q", "intermediate_steps": [[{"tool": "find", "tool_input": {"q": 1}, "log": "t"}, "o"]]},
        {"trajectory": {"thought_0": "t", "tool_name_0": "find", "tool_args_0": {"q": 1}, "observation_0": "o"}},
        {"steps": [{"thought": "t", "action": {"name": "find", "arguments": {"q": 1}}, "observation": "o", "step": 1}]},
        {"steps": [{"thought": "t", "action": {"type": "find", "q": 1}, "observation": "o"}]},
        [{"thought": "t", "tool": "find", "args": {"q": 1}, "observation": "o"}],
    ],
)
def test_steps_may_have_other_names(body: Any) -> None:
    run = read(body)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.input, tool.output, fixtures.answer_contents(run)) == ("find", {"q": 1}, "o", ["t"])


def test_answer_and_failure_of_a_step() -> None:
    failed = {"thought": "Look.", "tool": "find", "action": "find Dune", "observation": None, "error": "no shelf"}
    run = read({"query": "q", "steps": [failed, {"thought": "Enough.", "action": "", "final_answer": "None."}]})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.error, run.steps[-1].output) == ({"action": "find Dune"}, "no shelf", {"text": "None."})


def test_steps_by_lines_are_one_run() -> None:
    (run,), _ = fixtures.detect_and_read("react", fixtures.json_lines(STEPS))
    assert [tool.name for tool in fixtures.steps(run, StepType.TOOL)] == ["search", "finish"]


def test_observation_before_the_action_is_the_result_of_the_action_before() -> None:
    texts = ["You are in a shop.", "You see shelf 7."]
    steps = [
        {"step": index + 1, "observation": text, "action": f"go to shelf {index}"} for index, text in enumerate(texts)
    ]
    run = read({"task_description": "Find Dune.", "final_reward": 1.0, "trajectory": steps})
    first, last = fixtures.steps(run, StepType.TOOL)
    assert (first.output, last.status) == ("You see shelf 7.", StepStatus.PARTIAL)
    model = fixtures.steps(run, StepType.MODEL)[0]
    assert fixtures.request_contents(model) == ["Find Dune.", "You are in a shop."]
    assert [item.name for item in run.judgements] == ["final_reward"]
    assert len(fixtures.steps(run, StepType.TURN)) == 1


def test_answer_beside_the_expected_one_is_that_of_the_agent() -> None:
    steps = [{"thought": "t", "tool": "find", "observation": ["a", "b"], "timestamp": "soon"}]
    run = read({"question": "q", "answer": "three", "ground_truth": "4", "steps": steps})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.steps[-1].output, tool.output) == ({"text": "three"}, '["a","b"]')
    assert fixtures.steps(run, StepType.MODEL)[0].attributes == {"details": {"timestamp": "soon"}}
    expected_only = read({"question": "q", "answer": "4", "steps": steps})
    assert expected_only.steps[-1].output == {"text": "t"}


def test_texts_of_steps_are_divided() -> None:
    text = "\nThought 1: I look.\nAction 1: search[poems]\nObservation 1: 2 books\nAction 2: Finish[2]\n"
    log = {"question": "How many?", "answer": "3", "scratchpad": f"Question: How many?{text}"}
    ((run,), problems) = fixtures.detect_and_read("react", orjson.dumps(log))
    assert [(step.tool_name, step.input, step.output) for step in fixtures.steps(run, StepType.TOOL)] == [
        ("search", {"input": "poems"}, "2 books"),
        ("Finish", {"input": "2"}, None),
    ]
    assert (fixtures.answer_contents(run), run.steps[-1].output, problems) == (["I look.", None], {"text": "2"}, [])


def test_intents_are_tasks() -> None:
    step = {"observation": "[1] link", "action": "click [1]"}
    ((run,), _) = fixtures.detect_and_read("react", orjson.dumps({"intent": "Find Dune", "trajectory": [step]}))
    assert run.name == "Find Dune"
