"""Status transitions in the database: invalid ones are rejected, final statuses never change."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffing.models import DiffReport
from diffing.schemas.report import DiffStatus
from replay.core.vocabulary import FINAL_STATUSES, TrialStatus
from replay.models import ReplaySession, Trial
from replay.sessions import services
from replay.sessions.schemas import ReplayRequest
from tests.support.replay_runs import order_desk
from traces.core.statuses import InvalidTransition
from traces.runs.services import record
from traces.transitions import move, move_row, reach

pytestmark = pytest.mark.django_db


def test_invalid_transition_writes_nothing() -> None:
    trial = _trial()
    with pytest.raises(InvalidTransition):
        move(Trial.objects.filter(id=trial), TrialStatus.PENDING, TrialStatus.SUCCEEDED, error="no")
    assert Trial.objects.values_list("status", "error").get(id=trial) == (TrialStatus.PENDING, "")


def test_transition_requires_expected_status() -> None:
    trial = _trial()
    rows = Trial.objects.filter(id=trial)
    assert move(rows, TrialStatus.PENDING, TrialStatus.RUNNING) == 1
    assert move(rows, TrialStatus.PENDING, TrialStatus.FAILED, error="late") == 0
    assert rows.values_list("status", "error").get() == (TrialStatus.RUNNING, "")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(TrialStatus), st.sampled_from(TrialStatus)), max_size=12))
def test_final_status_never_changes(attempts: list[tuple[TrialStatus, TrialStatus]]) -> None:
    rows = Trial.objects.filter(id=_trial())
    for before, after in attempts:
        was = TrialStatus(rows.get().status)
        try:
            is_moved = move(rows, before, after)
        except InvalidTransition:
            is_moved = 0
        now = TrialStatus(rows.get().status)
        assert now is (after if is_moved else was)
        assert now is was or not was.is_final


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(TrialStatus), st.sampled_from(TrialStatus)), max_size=12))
def test_one_row_moves_like_many(attempts: list[tuple[TrialStatus, TrialStatus]]) -> None:
    first, second = _trial(), _trial()
    for number, (before, after) in enumerate(attempts):
        over_at = datetime(2026, 1, 1, 12, number, 0, 500, tzinfo=UTC)
        columns = {"over_at": over_at, "duration_ms": number / 3, "outcome": {"text": f"attempt {number} \u00e9"}}
        try:
            is_moved = move(Trial.objects.filter(id=first), before, after, **columns) == 1
        except InvalidTransition:
            with pytest.raises(InvalidTransition):
                move_row(Trial, second, before, after, **columns)
            continue
        assert move_row(Trial, second, before, after, **columns) is is_moved
    rows = Trial.objects.filter(id__in=(first, second)).values_list("status", "over_at", "duration_ms", "outcome")
    assert rows[0] == rows[1]


def test_report_may_fail_before_it_is_made() -> None:
    rows = DiffReport.objects.filter(id=_report())
    assert reach(rows, DiffStatus.FAILED, error="first") == 1
    assert reach(rows, DiffStatus.FAILED, error="second") == 1
    assert reach(rows, DiffStatus.READY, error="") == 1
    assert reach(rows, DiffStatus.READY, error="again") == 0
    assert reach(rows, DiffStatus.FAILED, error="late") == 0
    assert rows.values_list("status", "error").get() == (DiffStatus.READY, "")


def test_cancelled_session_stays_cancelled() -> None:
    session = services.launch(ReplayRequest(run=str(record(order_desk()).run_id), fork_step=2))
    services.cancel(session.id)
    session_row = ReplaySession.objects.get(id=session.id)
    assert session_row.status in FINAL_STATUSES
    assert services.cancel(session.id).ended_at == session_row.ended_at


def _trial() -> UUID:
    trial = Trial.objects.create(kind="tool", name="echo", input={}, executor="python", confirmed=False, by="")
    return trial.id


def _report() -> UUID:
    run = record(order_desk()).run_id
    return DiffReport.objects.create(key="0" * 64, base_id=run, candidate_id=run, options={}).id
