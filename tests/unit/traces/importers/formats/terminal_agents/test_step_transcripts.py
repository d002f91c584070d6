"""Transcripts of steps: Antigravity, Windsurf."""

from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType


def planner(index: int, **members: Any) -> dict[str, Any]:
    return {"step_index": index, "source": "MODEL", "type": "PLANNER_RESPONSE", "status": "DONE", **members}


def test_antigravity_results_follow_their_calls() -> None:
    run = fixtures.run("antigravity.jsonl")
    command, file = fixtures.steps(run, StepType.TOOL)
    assert command.input == {"CommandLine": "grep Dune stock", "Blocking": True, "WaitMs": 500}
    assert (command.output, command.status) == ("Dune 3", StepStatus.OK)
    assert (file.input, file.status, file.error) == ({"AbsolutePath": "/shop/stock"}, StepStatus.ERROR, "no such file")


def test_antigravity_tokens_model_and_checkpoint() -> None:
    first, second = fixtures.steps(fixtures.run("antigravity.jsonl"), StepType.MODEL)
    assert (first.model, first.tokens_in, first.tokens_cached) == ("Gemini 3.5 Flash (High)", 900, 200)
    assert (second.tokens_in, second.tokens_out) == (80, 6)
    assert fixtures.request_contents(second) == ["# Resuming from a compaction\nThe user asks for Dune."]


def test_antigravity_call_without_result_takes_none_of_the_next_answer() -> None:
    calls = [{"name": "view_file", "args": {}}]
    result = {"step_index": 2, "source": "MODEL", "type": "VIEW_FILE", "status": "DONE", "content": "3 copies"}
    (run,) = fixtures.read("antigravity", [planner(0, tool_calls=calls), planner(1, tool_calls=calls), result])
    assert [step.output for step in fixtures.steps(run, StepType.TOOL)] == [None, "3 copies"]


def test_antigravity_arguments_are_numbers_only_if_json_has_them() -> None:
    texts = {"WaitMs": "500", "Code": "007", "Digits": "9" * 5_000}
    (run,) = fixtures.read("antigravity", [planner(0, tool_calls=[{"name": "wait", "args": texts}])])
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert call.input == {**texts, "WaitMs": 500}


def test_windsurf_actions_belong_to_the_answer_before_them() -> None:
    run = fixtures.run("windsurf.jsonl")
    model = fixtures.steps(run, StepType.MODEL)[0]
    command, edit = fixtures.steps(run, StepType.TOOL)
    assert command.links == edit.links == (model.key,)
    assert [step.status for step in (command, edit)] == [StepStatus.OK, StepStatus.PARTIAL]
    assert fixtures.answer_contents(run) == ["I look it up.", "Yes, three copies."]
