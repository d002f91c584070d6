"""Canonical events that contradict themselves, and what a run's events say about its privacy and its name."""

from typing import Any

import orjson
import pytest

from traces.core.recorded_run import RecordedRun
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


STARTED = event(0, "run_started", payload={"app_id": "shop", "name": "restock"})
CALLED = event(1, "tool_called", "s1", payload={"args": {"title": "Dune"}})
RESULT = event(2, "tool_result", "s1", payload={"result": "3 copies"})
DONE = event(3, "run_completed")


def read(*lines: Any) -> tuple[list[RecordedRun], list[str]]:
    data = b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines)
    source = Source(name="run.jsonl", data=data)
    return list(forkpoint_events.parse([source])), [str(problem) for problem in source.problems]


def test_the_given_name_is_shown() -> None:
    asked = {"messages": [{"role": "user", "content": "Order more."}]}
    (run,), _ = read(STARTED, event(1, "model_called", "s1", payload={"request": asked}), event(2, "run_completed"))
    assert run.name == "restock"


@pytest.mark.parametrize("ending", ["tool_result", "model_result", "step_finished"])
def test_a_result_without_its_call_is_refused(ending: str) -> None:
    runs, problems = read(STARTED, event(1, ending, "s1", payload={"type": "agent"}), DONE)
    assert runs == []
    (problem,) = problems
    assert f"event 1, {ending} of step s1, has no" in problem
    assert "line 2" in problem


def test_a_result_before_its_call_is_refused() -> None:
    runs, _ = read(STARTED, {**CALLED, "sequence_no": 2}, {**RESULT, "sequence_no": 1}, DONE)
    assert runs == []


@pytest.mark.parametrize("late", [event(4, "tool_called", "s2"), event(4, "run_failed"), event(4, "input_received")])
def test_events_after_the_end_are_refused(late: dict[str, Any]) -> None:
    runs, (problem,) = read(STARTED, CALLED, RESULT, DONE, late)
    assert runs == []
    assert "comes after run_completed" in problem
    assert "line 5" in problem


def test_results_stay_where_their_calls_were_lost() -> None:
    (run,), _ = read(STARTED, RESULT, event(3, "run_completed", payload={"dropped_events": 1}))
    assert (run.steps[0].output, run.steps[0].attributes["call_not_recorded"]) == ("3 copies", True)
    (run,), problems = read(STARTED, b'{"run_id": "r", "sequ', RESULT, DONE)
    assert run.steps[0].output == "3 copies"
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("status", "expected"),
    [("not_required", None), ("redacted", "redacted"), ("failed", "failed"), ("blocked", "blocked"), ("?", "blocked")],
)
def test_the_worst_redaction_status_is_the_runs(status: str, expected: str | None) -> None:
    (run,), _ = read(STARTED, {**CALLED, "redaction_status": status}, {**RESULT, "redaction_status": "redacted"}, DONE)
    assert run.metadata.get("redaction_status") == (expected or "redacted")


def test_a_payload_cannot_unblock_its_run() -> None:
    started = event(0, "run_started", payload={"metadata": {"redaction_status": "not_required"}})
    (run,), _ = read(started, {**CALLED, "redaction_status": "blocked"}, RESULT, DONE)
    assert run.metadata["redaction_status"] == "blocked"


def test_metadata_alone_can_block_a_run() -> None:
    started = event(0, "run_started", payload={"metadata": {"redaction_status": "blocked"}})
    (run,), _ = read(started, {**CALLED, "redaction_status": "redacted"}, RESULT, DONE)
    assert run.metadata["redaction_status"] == "blocked"
