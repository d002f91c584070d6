"""Canonical events: contradictions, lost events, redaction status, and the run's name."""

from typing import Any

import orjson
import pytest

from traces.core.json_access import as_list, as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events


def event(number: int, kind: str, step: str | None = None, **more: Any) -> dict[str, Any]:
    payload = more.pop("payload", {})
    return {
        "run_id": "r",
        "step_id": step,
        "sequence_no": number,
        "event_type": kind,
        "timestamp_utc": "2026-03-01T10:00:00Z",
        "payload": {"tool_name": "find_book", **payload} if kind.startswith("tool") else payload,
        **more,
    }


RUN_START = event(0, "run_started", payload={"app_id": "shop", "name": "restock"})
TOOL_CALL = event(1, "tool_called", "s1", payload={"args": {"title": "Dune"}})
TOOL_RESULT = event(2, "tool_result", "s1", payload={"result": "3 copies"})
RUN_END = event(3, "run_completed")


def read(*lines: Any) -> tuple[list[RecordedRun], list[str]]:
    data = b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines)
    source = Source(name="run.jsonl", data=data)
    return list(forkpoint_events.parse([source])), [str(problem) for problem in source.problems]


def test_explicit_name_becomes_run_name() -> None:
    request = {"messages": [{"role": "user", "content": "Order more."}]}
    (run,), _ = read(RUN_START, event(1, "model_called", "s1", payload={"request": request}), event(2, "run_completed"))
    assert run.name == "restock"


@pytest.mark.parametrize(
    ("output", "answers"),
    [("Two orders, 84 in total.", [{"text": "Two orders, 84 in total."}]), ("84", []), ({"total": 84}, []), (None, [])],
    ids=["by code", "by the model", "data", "nothing"],
)
def test_text_that_a_run_returned_is_its_answer(output: Any, answers: list[Any]) -> None:
    request = {"messages": [{"role": "user", "content": "Add 42 and 42."}]}
    payload = {"request": request, "response": {"message": {"role": "assistant", "content": "84"}}}
    end = event(2, "run_completed", payload={"output": output})
    (run,), _ = read(RUN_START, event(1, "model_called", "s1", payload=payload), end)
    assert [step.output for step in run.steps if step.type is StepType.OUTPUT] == answers


@pytest.mark.parametrize("ending", ["tool_result", "model_result", "step_finished"])
def test_result_without_call_is_refused(ending: str) -> None:
    runs, problems = read(RUN_START, event(1, ending, "s1", payload={"type": "agent"}), RUN_END)
    assert runs == []
    (problem,) = problems
    assert f"event 1, {ending} of step s1, has no" in problem
    assert "line 2" in problem


def test_result_before_call_is_refused() -> None:
    runs, _ = read(RUN_START, {**TOOL_CALL, "sequence_no": 2}, {**TOOL_RESULT, "sequence_no": 1}, RUN_END)
    assert runs == []


@pytest.mark.parametrize(
    ("end", "status"),
    [({"exit_code": 0}, RunStatus.COMPLETED), ({"exit_code": 3}, RunStatus.FAILED), ({}, RunStatus.FAILED)],
)
def test_successful_program_handled_failed_calls(end: dict[str, Any], status: RunStatus) -> None:
    error = event(2, "tool_result", "s1", payload={"status": "error", "error": "no such book"})
    kind = "run_failed" if end.get("exit_code") else "run_completed"
    (run,), _ = read(RUN_START, TOOL_CALL, error, event(3, kind, payload=end))
    assert run.steps[0].status == StepStatus.ERROR
    assert run.status is status


@pytest.mark.parametrize("late", [event(4, "tool_called", "s2"), event(4, "run_failed"), event(4, "input_received")])
def test_events_after_run_end_are_refused(late: dict[str, Any]) -> None:
    runs, (problem,) = read(RUN_START, TOOL_CALL, TOOL_RESULT, RUN_END, late)
    assert runs == []
    assert "comes after run_completed" in problem
    assert "line 5" in problem


def test_results_of_lost_calls_are_imported() -> None:
    (run,), _ = read(RUN_START, TOOL_RESULT, event(3, "run_completed", payload={"dropped_events": 1}))
    assert (run.steps[0].output, run.steps[0].attributes["call_not_recorded"]) == ("3 copies", True)
    (run,), problems = read(RUN_START, b'{"run_id": "r", "sequ', TOOL_RESULT, RUN_END)
    assert run.steps[0].output == "3 copies"
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("status", "expected"),
    [("not_required", None), ("redacted", "redacted"), ("failed", "failed"), ("blocked", "blocked"), ("?", "blocked")],
)
def test_run_has_worst_redaction_status(status: str, expected: str | None) -> None:
    (run,), _ = read(
        RUN_START, {**TOOL_CALL, "redaction_status": status}, {**TOOL_RESULT, "redaction_status": "redacted"}, RUN_END
    )
    assert run.metadata.get("redaction_status") == (expected or "redacted")


def test_metadata_cannot_unblock_run() -> None:
    run_start = event(0, "run_started", payload={"metadata": {"redaction_status": "not_required"}})
    (run,), _ = read(run_start, {**TOOL_CALL, "redaction_status": "blocked"}, TOOL_RESULT, RUN_END)
    assert run.metadata["redaction_status"] == "blocked"


def test_metadata_can_block_run() -> None:
    run_start = event(0, "run_started", payload={"metadata": {"redaction_status": "blocked"}})
    (run,), _ = read(run_start, {**TOOL_CALL, "redaction_status": "redacted"}, TOOL_RESULT, RUN_END)
    assert run.metadata["redaction_status"] == "blocked"


def test_requests_share_the_messages_they_repeat() -> None:
    """Otherwise a conversation of 10,000 calls takes gigabytes."""
    texts = [f"Message {number}" for number in range(30)]
    requests = [
        {"messages": [{"role": "user", "content": text} for text in texts[start : start + 12]]} for start in range(15)
    ]
    calls = [
        event(number, "model_called", f"s{number}", payload={"request": request})
        for number, request in enumerate(requests, 1)
    ]
    (run,), _ = read(RUN_START, *calls, event(20, "run_completed"))
    first, second = (as_list(as_object(step.input)["messages"]) for step in run.steps[:2])
    assert [as_object(message)["content"] for message in second] == texts[1:13]
    assert all(earlier is later for earlier, later in zip(first[1:], second[:-1], strict=True))
