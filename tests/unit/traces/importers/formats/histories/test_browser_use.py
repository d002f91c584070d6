"""Histories of browser-use."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus, StepType


def old_history() -> dict[str, Any]:
    """Return a history as earlier versions wrote it: without requests, with pictures and counts of tokens."""
    brain = {"evaluation_previous_goal": "Unknown", "memory": "", "next_goal": "Open the shop"}
    item = {
        "model_output": {"current_state": brain, "action": [{"go_to_url": {"url": "https://books.example"}}]},
        "result": [{"is_done": False, "error": "net::ERR_NAME_NOT_RESOLVED", "include_in_memory": True}],
        "state": {
            "url": "about:blank",
            "title": "",
            "tabs": [],
            "screenshot": "iVBO/w==" * 9,
            "interacted_element": [None],
        },
        "metadata": {"step_start_time": 1767225600.5, "step_end_time": 1767225609.5, "input_tokens": 2894},
    }
    return {"history": [item]}


def test_actions_have_their_results_errors_and_elements() -> None:
    typed, clicked, waited, done = fixtures.steps(fixtures.run("browser_use.json"), StepType.TOOL)
    assert (typed.input, typed.output) == ({"index": 12, "text": "Dune", "clear": True}, "Typed 'Dune' into element 12")
    assert typed.attributes["interacted_element"]
    assert (clicked.status, clicked.error) == (StepStatus.ERROR, "Element 13 is gone")
    assert waited.status is StepStatus.PARTIAL
    assert done.output == "Yes, three copies."


def test_step_without_answer_is_failed_call() -> None:
    _, failed, _ = fixtures.steps(fixtures.run("browser_use.json"), StepType.MODEL)
    assert (failed.status, failed.error, failed.output) == (StepStatus.ERROR, "429 too many requests", None)


def test_task_and_outcome() -> None:
    run = fixtures.run("browser_use.json")
    assert run.name == "Is Dune in stock?"
    assert [(judgement.name, judgement.kind, judgement.by) for judgement in run.judgements] == [
        ("success", "pass", "agent"),
        ("is_correct", "pass", "judge"),
    ]


def test_history_of_earlier_versions() -> None:
    (run,), problems = fixtures.detect_and_read("browser-use", orjson.dumps(old_history()))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert problems == []
    assert (run.status, model.tokens_in) == (RunStatus.FAILED, 2894)
    assert "iVBO" not in repr(run)
