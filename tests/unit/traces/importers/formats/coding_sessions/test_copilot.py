"""Sessions of GitHub Copilot."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_list
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType

EVENTS: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "copilot.jsonl").read_bytes().splitlines()]


def event(type: str, **data: Any) -> dict[str, Any]:
    return {"type": type, "data": data, "id": type, "timestamp": "2026-03-01T10:01:00Z", "parentId": None}


def read(*events: Any) -> RecordedRun:
    ((run,), problems) = fixtures.detect_and_read("copilot", fixtures.json_lines(events))
    assert problems == []
    return run


def test_subagents_are_nested_under_calls() -> None:
    run = fixtures.run("copilot.jsonl")
    task, view, till = fixtures.steps(run, StepType.TOOL)
    agents = {step.name: step.parent for step in fixtures.steps(run, StepType.AGENT)}
    assert (run.external_id, run.status, agents) == (
        "cs-1",
        RunStatus.COMPLETED,
        {"copilot": None, "Explore": task.key},
    )
    assert (view.input, view.output) == ({"path": "/shelf/7"}, "3 copies")
    assert (till.input, till.status, till.error) == ({"command": "ls /till"}, StepStatus.ERROR, "permission denied")
    assert [str(step.started_at)[17:19] for step in (task, view, till)] == ["04", "05", "08"]


def test_answers_have_usage_and_thoughts() -> None:
    run = fixtures.run("copilot.jsonl")
    first, *_, last = fixtures.steps(run, StepType.MODEL)
    assert (first.model, first.tokens_in, first.tokens_out, first.tokens_cached) == ("claude-x", 42, 9, 16)
    thought, text = as_list(fixtures.answer_contents(run)[0])
    assert (thought, text) == (
        {"type": "thinking", "thinking": "Ask first."},
        {"type": "text", "text": "Let me ask."},
    )
    assert fixtures.request_contents(last) == ["Dune: three copies."], "the summary replaced the conversation"
    assert run.steps[0].output == {"text": "Yes,\nthree copies."}, "parts of one answer are one answer"


def test_older_events_name_only_calls() -> None:
    events = [{**item, "data": {**item.get("data", {})}} for item in EVENTS if item["type"] != "result"]
    for item in events:
        if item.pop("agentId", None) and not item["type"].startswith("subagent."):
            item["data"]["parentToolCallId"] = "call_1"
    run, expected = read(*events), fixtures.run("copilot.jsonl")
    assert [(step.name, step.output) for step in run.steps] == [(step.name, step.output) for step in expected.steps]
    assert read({"events": events}).steps == run.steps


@pytest.mark.parametrize(
    ("ending", "status", "error"),
    [
        ([event("session.error", errorType="quota", message="no requests left")], RunStatus.FAILED, "no requests left"),
        ([event("session.error", message="try again"), event("assistant.message", content="Yes.")], "completed", ""),
        ([event("abort", reason="user_initiated")], RunStatus.PARTIAL, ""),
        ([{"type": "result", "exitCode": 1, "sessionId": "x"}], RunStatus.FAILED, ""),
    ],
)
def test_endings_decide_the_status(ending: list[Any], status: str, error: str) -> None:
    run = read(event("user.message", content="Is Dune in stock?"), event("assistant.message", content="Wait."), *ending)
    assert run.status == status
    assert run.steps[0].error == error


def test_calls_without_request_are_kept() -> None:
    run = read(
        event("tool.execution_start", toolCallId="c", toolName="view", arguments={"path": "x"}),
        event("tool.execution_complete", toolCallId="c", success=True),
        event("assistant.reasoning", content="Fine."),
        event("assistant.message", content="Yes.", reasoningText="Fine."),
        event("session.task_complete", success=False, summary="not found"),
    )
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.status, tool.output) == ("view", StepStatus.OK, None)
    assert len(fixtures.steps(run, StepType.MODEL)) == 2
    assert [(item.name, item.kind, item.text) for item in run.judgements] == [("success", "fail", "not found")]
