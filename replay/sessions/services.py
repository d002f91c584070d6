"""Starting, stopping and answering replay sessions."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from replay.core.errors import ReplayRefusal, SessionConflict
from replay.core.plan import Plan, PlanRefusal
from replay.core.vocabulary import COMPLETED, SessionStatus
from replay.execution import event_log, leases, observers, runner, task_names
from replay.execution.derived_run import container_status
from replay.hooks import session_lifecycle
from replay.models import ReplaySession
from replay.resolution.lost_recordings import ARTIFACT_MISSING
from replay.sessions import create, prepare, queries
from replay.sessions.schemas import OperatorAnswer, ReplayRequest
from traces import enqueue
from traces.core.vocabulary import RunStatus
from traces.http.idempotency import Key, made, once
from traces.runs import services as traces
from traces.transitions import move

_KIND: Final = "replay"
_WAITING: Final = frozenset({SessionStatus.PENDING, SessionStatus.AWAITING_OPERATOR})
_COMPARED_IN: Final = 4  # times the time after which a worker is taken for dead
_MOST_LOST_WORKERS: Final = 10  # one after the other at the same checkpoint: it is the session that ends them


def preview(request: ReplayRequest, *, untouched: bool = True) -> Plan:
    """What the replay would do; nothing runs. Refusals are in the plan."""
    return prepare.prepare(request, untouched=untouched, kept=True).plan


def launch(request: ReplayRequest, key: Key | None = None) -> ReplaySession:
    """Start a replay; raises `ReplayRefusal`. The same key again returns the session that it started.

    A replay that its plan already fails, being strict or wanting what cannot be read, is kept as a session that
    failed validation.
    """
    asked = request.model_dump(mode="json", exclude_unset=True)
    if known := made(_KIND, key, asked):
        return queries.find_session(known)
    prepared = prepare.prepare(request, brief=True)
    refusals = prepared.plan.refusals
    if refusal := next((refusal for refusal in refusals if not _fails_validation(refusal)), None):
        raise ReplayRefusal(refusal)

    def make() -> str:
        session = create.create(prepared)
        if refusals:
            _refuse(session, refusals[0])
        else:
            event_log.append(session.id, "session")
            transaction.on_commit(partial(enqueue.put, task_names.EXECUTE, session.id))
        return str(session.id)

    return queries.find_session(once(_KIND, key, asked, make))


def cancel(session_id: UUID) -> ReplaySession:
    """Stop a session before its next call; one that has ended stays as it is."""
    with transaction.atomic():
        # Held, so that it does not pass from waiting to running, or back, while this looks at it.
        session = ReplaySession.objects.select_for_update().get(id=queries.find_session(session_id).id)
        if session.status in _WAITING:
            move(
                ReplaySession.objects.filter(id=session_id),
                SessionStatus(session.status),
                SessionStatus.CANCELLED,
                ended_at=datetime.now(UTC),
                owner="",
                question=None,
                current="",
            )
            container_status.cut_off(session)
            if session.run_id is not None:
                traces.seal_run(session.run_id, RunStatus.FAILED)
                observers.run_sealed(session.run_id)
                transaction.on_commit(partial(session_lifecycle.ended, session_id))
            event_log.append(session_id, "session")
        elif session.status == SessionStatus.RUNNING:
            ReplaySession.objects.filter(id=session_id).update(cancel_requested=True)
            event_log.append(session_id, "session")
    return queries.find_session(session_id)


def answer(session_id: UUID, given: OperatorAnswer) -> ReplaySession:
    """Answer a waiting session's question, and let it go on; the same answer again changes nothing."""
    step, said = str(given.sequence_no), given.model_dump(mode="json")
    with transaction.atomic():
        session = queries.find_session(session_id)
        question = session.question
        if question is None and session.answers.get(step) == said:
            return session
        if session.status != SessionStatus.AWAITING_OPERATOR or question is None:
            raise SessionConflict(f"session {session_id} is {session.status}: it waits for no answer")
        if question["sequence_no"] != given.sequence_no:
            raise SessionConflict(f"the question is about step {question['sequence_no']}", where="/sequence_no")
        if given.action == "run" and not question.get("may_run"):
            raise SessionConflict("this call does not run: answer it, or go on without", where="/action")
        released = move(
            ReplaySession.objects.filter(id=session_id),
            SessionStatus.AWAITING_OPERATOR,
            SessionStatus.PENDING,
            question=None,
            answers={**session.answers, step: said},
            current="",
        )
        if not released:
            raise SessionConflict(f"session {session_id} was answered already")
        event_log.append(session_id, "session")
        transaction.on_commit(partial(enqueue.put, task_names.EXECUTE, session_id))
    return queries.find_session(session_id)


def take_over(observer: leases.Observer) -> None:
    """Make the sessions of workers that are gone pending again, and end those that no worker survives."""
    for lost in observer.abandoned():
        deadly = ReplaySession.objects.filter(id=lost.session_id, lost_workers__gte=_MOST_LOST_WORKERS)
        if deadly.exists():
            runner.give_up(lost)
        elif leases.release(lost):
            event_log.append(lost.session_id, "session")


def requeue_unfinished(queued: int = 0) -> int:
    """Queue what waits, unless as many messages are `queued`: then none was lost. Answers how many.

    Queued twice is harmless: only one worker can claim a session, and a diff is made once.
    """
    startable = observers.startable(ReplaySession.objects.filter(status=SessionStatus.PENDING))
    waiting = [(task_names.EXECUTE, session) for session in startable.values_list("id", flat=True)]
    waiting += [(task_names.COMPARE, session) for session in _uncompared()]
    if len(waiting) <= queued:
        return 0
    for task, session in waiting:
        enqueue.put(task, session)
    return len(waiting)


def _uncompared() -> list[UUID]:
    """Sessions that completed and were not compared in a time that is long for it; each once in such a time."""
    late = datetime.now(UTC) - timedelta(seconds=_COMPARED_IN * settings.TAKEOVER_S)
    done = ReplaySession.objects.filter(status__in=COMPLETED, compared_at=None, heartbeat_at__lte=late)
    found = list(done.values_list("id", flat=True))
    ReplaySession.objects.filter(id__in=found, compared_at=None).update(heartbeat_at=datetime.now(UTC))
    return found


def _fails_validation(refusal: PlanRefusal) -> bool:
    return refusal.where in {"/policy/strict", "/policy/fallback"}


def _refuse(session: ReplaySession, refusal: PlanRefusal) -> None:
    move(
        ReplaySession.objects.filter(id=session.id),
        SessionStatus.PENDING,
        SessionStatus.FAILED_VALIDATION,
        error_code=ARTIFACT_MISSING if refusal.code == ARTIFACT_MISSING else "strict",
        error=refusal.detail,
        error_sequence_no=refusal.step,
        ended_at=datetime.now(UTC),
    )
    event_log.append(session.id, "session")
