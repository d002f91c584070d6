"""Logs of Kimi CLI and Kimi Code."""

from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONObject
from traces.core.vocabulary import RunStatus, StepStatus, StepType

TIME = 1_767_225_600_000
PROMPT = {"type": "turn.prompt", "input": [{"type": "text", "text": "Is Dune in stock?"}], "time": TIME}


def loop(**event: Any) -> JSONObject:
    return {"type": "context.append_loop_event", "event": event, "time": TIME + 1}


def text(value: str) -> JSONObject:
    return loop(type="content.part", part={"type": "text", "text": value})


def test_cli_joins_pieces_and_counts_cached_tokens() -> None:
    answer = fixtures.steps(fixtures.run("kimi_cli.jsonl"), StepType.MODEL)[0]
    assert isinstance(answer.output, dict)
    message = answer.output["message"]
    assert isinstance(message, dict)
    assert message["content"] == [
        {"type": "thinking", "thinking": "The catalogue knows."},
        {"type": "text", "text": "I look it up."},
    ]
    assert (answer.tokens_in, answer.tokens_cached, answer.tokens_out) == (1100, 200, 30)


def test_cli_nests_subagents_and_marks_rejected_calls() -> None:
    run = fixtures.run("kimi_cli.jsonl")
    shell, task = fixtures.steps(run, StepType.TOOL)
    assert (shell.status, shell.input) == (StepStatus.DENIED, {"command": "grep Dune"})
    assert [step.name for step in run.steps if step.parent == task.key] == ["kimi-cli"]


def test_code_has_requests_with_system_tools_and_summary() -> None:
    first, second = fixtures.steps(fixtures.run("kimi_code.jsonl"), StepType.MODEL)
    assert isinstance(first.input, dict)
    assert first.input["parameters"] == {"max_tokens": 32000, "thinking_effort": "high"}
    assert first.input["tools"]
    reminder = "<system-reminder>Keep a list of tasks.</system-reminder>"
    assert fixtures.request_contents(first) == ["You keep a bookshop.", "Is Dune in stock?", reminder]
    assert fixtures.request_contents(second)[1:] == ["Summary of the talk so far: the user asks for Dune."]
    assert (first.provider, first.model, first.tokens_in) == ("kimi", "kimi-k3", 1100)


@pytest.mark.parametrize("reason", ["failed", "completed"])
def test_code_without_messages_of_the_context(reason: str) -> None:
    """Some versions write the request of a turn only."""
    (run,) = fixtures.read("kimi-code", [PROMPT, text("Ye"), text("s."), {"type": "turn.ended", "reason": reason}])
    assert fixtures.answer_contents(run) == ["Yes."]
    assert run.name == "Is Dune in stock?"
    assert run.status is (RunStatus.FAILED if reason == "failed" else RunStatus.COMPLETED)


def test_session_that_grew_is_the_same_run() -> None:
    for name in ("kimi_cli.jsonl", "kimi_code.jsonl"):
        lines = [record.value for record in fixtures.source(name).records()]
        (part,) = fixtures.read(fixtures.FORMATS[name], lines[:-3])
        assert part.external_id == fixtures.run(name).external_id
