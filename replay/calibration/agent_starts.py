"""Calibrations by an agent: a runner starts it twice, unchanged, and what it did is compared."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from replay.calibration import services
from replay.calibration.core.schemas import AgentCalibrationView, AgentStart
from replay.core.errors import ReplayRefusal
from replay.core.vocabulary import FINAL_STATUSES, CalibrationStatus, Engine, SessionStatus
from replay.execution import event_log, task_names
from replay.execution.observers import SessionObserver, SharedRecordings
from replay.models import AgentCalibration, ReplaySession
from replay.overrides.policy import Policy
from replay.runners import consents
from replay.runners import queries as runners
from replay.sessions import create, prepare
from replay.sessions.schemas import ReplayRequest
from traces import enqueue
from traces.audit import audit_log
from traces.core.vocabulary import AuditAction
from traces.http.idempotency import Key, find_made, make_once
from traces.models import Run
from traces.runs.queries import by_id

_KIND: Final = "agent calibration"
# Only the recording answers.
_POLICY: Final = Policy(allow=[])
_NO_RUNS: Final[Callable[[], Sequence[UUID]]] = list


class AgentCalibrationObserver(SessionObserver):
    """Lets no other run answer the calls of a calibrated agent: then its two runs would not show what differs."""

    def shared_recordings(self, session_id: UUID) -> SharedRecordings | None:
        is_start = _of_session(session_id).exists()
        return SharedRecordings(sessions=[], load_runs=_NO_RUNS) if is_start else None


def start(run: Run, key: Key | None = None, *, by: str = "") -> AgentCalibration:
    """Let a runner start the agent of a run twice; raise `ReplayRefusal`, `NoRunner` or `ToolRefusal`.

    A repeated idempotency key returns the calibration that it started.
    """
    if earlier_id := find_made(_KIND, key, str(run.id)):
        return find(earlier_id)
    request = ReplayRequest(run=str(run.id), policy=_POLICY, engine=Engine.AGENT)
    replay = prepare.prepare(request, brief=True)
    runners.require_online(run.app, tools=consents.tools_of_runner(replay.plan.unintercepted_tools))
    for refusal in replay.plan.refusals:
        raise ReplayRefusal(refusal)

    def make() -> str:
        sessions = [create.create(replay, is_probe=True, by=by) for _ in range(2)]
        row = AgentCalibration.objects.create(run=run, first_session=sessions[0], second_session=sessions[1], by=by)
        audit_log.append(AuditAction.CALIBRATION_STARTED, row.id, by=by, run=str(run.id))
        for session in sessions:
            event_log.append(session.id, "session")
            transaction.on_commit(partial(enqueue.send, task_names.EXECUTE, session.id))
        return str(row.id)

    return find(make_once(_KIND, key, str(run.id), make))


def compare_after(session_id: UUID) -> None:
    """Compare the two runs of the agent if this session was the last to end."""
    for row in _of_session(session_id):
        _compare(row)


def compare_missed() -> None:
    """Compare runs of agents whose worker ended before it did."""
    are_over = Q(first_session__ended_at__isnull=False, second_session__ended_at__isnull=False)
    has_runs = Q(first_session__run__isnull=False, second_session__run__isnull=False)
    for row in _rows().filter(are_over, has_runs, calibration=None):
        _compare(row)


def find(ref: str | UUID) -> AgentCalibration:
    """Find a calibration by an agent; raises `NotFound`."""
    return by_id(_rows(), ref, "calibration by an agent")


def view(row: AgentCalibration) -> AgentCalibrationView:
    error = "" if row.calibration_id else _error(row)
    status = CalibrationStatus.COMPLETED if row.calibration_id else CalibrationStatus.RUNNING
    plan: dict[str, Any] = row.first_session.plan
    sessions = ReplaySession.objects.filter(id__in=[session.id for session in row.sessions])
    return AgentCalibrationView(
        id=row.id,
        run=row.run_id,
        run_name=row.run.name,
        app=row.run.app,
        status=CalibrationStatus.FAILED if error else status,
        starts=[
            AgentStart(session=session.id, status=SessionStatus(session.status), run=session.run_id)
            for session in row.sessions
        ],
        unintercepted_tools=plan["unintercepted_tools"],
        waits_for=runners.missing_runner(sessions),
        calibration=row.calibration_id,
        error=error,
        created_at=row.created_at,
    )


def _compare(row: AgentCalibration) -> None:
    """Compare two runs that have ended. A call that the recording does not answer is a difference, too."""
    first, second = (session.run for session in row.sessions)
    if _error(row) or first is None or second is None or not (first.sealed_at and second.sealed_at):
        return
    calibration = services.compare(first, second, by=row.by)
    AgentCalibration.objects.filter(id=row.id).update(calibration=calibration)


def _error(row: AgentCalibration) -> str:
    """Return why there is nothing to compare; empty if there is, or may be."""
    for session in row.sessions:
        if session.status == SessionStatus.CANCELLED:
            return "a start of the agent was cancelled"
        if session.status in FINAL_STATUSES and session.run_id is None:
            return session.error or "the agent made no call, so there is nothing to compare"
    return ""


def _rows() -> QuerySet[AgentCalibration]:
    return AgentCalibration.objects.select_related("run", "first_session__run", "second_session__run")


def _of_session(session_id: UUID) -> QuerySet[AgentCalibration]:
    return _rows().filter(Q(first_session=session_id) | Q(second_session=session_id))
