"""Replays that stop early: resolved steps remain, and the run shows where and why it ended."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F

from replay.execution import runner, task_names
from replay.models import ReplaySession
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import OperatorAnswer, ReplayRequest, SessionView
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.models import Run, Step
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
LOST_ORDER = {"match": {"step": 4}, "tool": {"output": {"status": "lost"}}}
ASKS_MORE = {
    "match": {"step": 3},
    "output": {
        "tool_calls": [{"id": "x", "name": "get_order", "arguments": {"order_id": order}} for order in ("A-1", "A-2")]
    },
}


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def replay_request(*entries: dict[str, Any], **policy: Any) -> ReplayRequest:
    """Request a replay from step 3 on without live calls."""
    run = Run.objects.get(id=record(order_desk()).run_id)
    body: Any = {
        "run": str(run.id),
        "fork_step": 3,
        "overrides": {"overrides": list(entries)},
        "policy": {"allow": [], **policy},
    }
    return prepare.parse(body)


def launch(*entries: dict[str, Any], **policy: Any) -> tuple[SessionView, list[str]]:
    """Run the replay; returns its view and the plan's warnings."""
    request = replay_request(*entries, **policy)
    session = services.launch(request)
    runner.execute(session.id)
    return queries.session_view(session.id), services.preview(request).warnings


def steps(view: SessionView) -> list[Step]:
    assert view.run is not None
    return list(Step.objects.filter(run_id=view.run).order_by("sequence_no"))


def outcomes(view: SessionView) -> list[str]:
    rows = steps(view)
    assert [step.sequence_no for step in rows] == list(range(1, len(rows) + 1))
    return [f"{step.tool_name or step.type} {step.status} {step.reason}" for step in rows[2:]]


def container_states(view: SessionView) -> list[tuple[str, bool]]:
    """Return the status of agent and turn, and whether each has output."""
    return [(step.status, bool(step.output_ref)) for step in steps(view)[:2]]


def test_failed_step_keeps_earlier_steps() -> None:
    view, warnings = launch(LOST_ORDER, fallback="fail")
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "fallback_refused", 5)
    assert outcomes(view) == [
        "model ok source_output_reused",
        "get_order ok simulation_operator_override",
        "model error simulation_policy_fallback",
    ]
    assert container_states(view) == [("error", False), ("error", False)]
    assert warnings == ["The replay will fail at step 5: nothing can answer it, and the policy's fallback is `fail`."]


@pytest.mark.divided
@pytest.mark.parametrize("most", [3, 5, 9])
@pytest.mark.parametrize("entries", [(), (LOST_ORDER,), (ASKS_MORE,)])
def test_step_budget_limits_the_run(entries: tuple[dict[str, Any], ...], most: int) -> None:
    view, warnings = launch(*entries, budget={"max_steps": most})
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "budget_steps", most + 1)
    assert (view.resolved_steps, len(outcomes(view)) + 2) == (most, most)
    assert any(text.startswith(f"The budget allows {most} steps") for text in warnings)


def test_sufficient_budget_stops_nothing() -> None:
    view, warnings = launch(ASKS_MORE, budget={"max_steps": 11})
    assert (view.status, view.resolved_steps) == ("completed_mixed", 11)
    assert not any("budget" in text for text in warnings)


def test_deadline_counts_from_session_start() -> None:
    session = services.launch(replay_request(LOST_ORDER, budget={"deadline_s": 600}))
    ReplaySession.objects.update(started_at=datetime.now(UTC) - timedelta(hours=1))
    runner.execute(session.id)
    assert queries.session_view(session.id).error_code == "budget_deadline"


def test_deadline_leaves_out_the_wait_for_an_answer() -> None:
    view, _ = launch(ASKS_MORE, tools={"ask": ["get_*"]}, budget={"deadline_s": 600})
    an_hour_ago = F("started_at") - timedelta(hours=1)
    ReplaySession.objects.update(started_at=an_hour_ago, heartbeat_at=an_hour_ago)
    assert view.question is not None
    services.answer(view.id, OperatorAnswer(sequence_no=view.question.sequence_no, action="fallback"))
    runner.execute(view.id)
    view = queries.session_view(view.id)
    assert (view.status, view.error_code) == ("completed_mixed", "")
    assert ReplaySession.objects.get().operator_wait > timedelta(minutes=59)


def test_failed_step_survives_worker_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    session = services.launch(replay_request(LOST_ORDER, fallback="fail"))
    with monkeypatch.context() as dying:
        dying.setattr(runner, "_end", lambda *arguments, **options: None)
        runner.execute(session.id)
    before = outcomes(queries.session_view(session.id))
    ReplaySession.objects.update(status="pending", owner="")
    runner.execute(session.id)
    view = queries.session_view(session.id)
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "fallback_refused", 5)
    assert outcomes(view) == before


def test_unplanned_simulation_ends_strict_replay() -> None:
    session = services.launch(replay_request(LOST_ORDER))
    ReplaySession.objects.update(policy={**session.policy, "strict": True})  # as if the plan had found an answer
    runner.execute(session.id)
    view = queries.session_view(session.id)
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "strict", 4)
    assert outcomes(view)[-1] == "get_order error simulation_operator_override"


def test_session_cancelled_while_waiting_has_no_outcome() -> None:
    view, _ = launch(ASKS_MORE, tools={"ask": ["get_*"]})
    assert view.status == "awaiting_operator"
    services.cancel(view.id)
    view = queries.session_view(view.id)
    assert (view.status, ReplaySession.objects.get().question) == ("cancelled", None)
    assert (view.outcome, Run.objects.get(replayed_by=view.id).status) == ("unknown", "partial")
    assert container_states(view) == [("partial", False), ("partial", False)]
