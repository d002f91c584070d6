"""Start, cancel and answer replay sessions, and recover those of dead workers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from replay.core.errors import ReplayRefusal, SessionConflict
from replay.core.plan import Plan, PlanRefusal
from replay.core.vocabulary import COMPLETED, Engine, SessionStatus
from replay.execution import event_log, leases, observers, runner, task_names
from replay.execution.derived_run import container_status
from replay.execution.session_redaction import SessionRedaction
from replay.hooks import session_lifecycle
from replay.models import ReplaySession, Rerun, wait_until_now
from replay.questions import services as questions
from replay.resolution.lost_recordings import ARTIFACT_MISSING
from replay.runners import consents
from replay.runners import queries as runners
from replay.sessions import create, prepare, queries
from replay.sessions.prepare import PreparedReplay
from replay.sessions.schemas import OperatorAnswer, ReplayRequest
from traces import enqueue
from traces.audit import audit_log
from traces.core.gc_pause import without_pauses
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject
from traces.core.vocabulary import AuditAction, RunStatus, StepType
from traces.http.idempotency import Key, find_made, make_once
from traces.runs import queries as runs
from traces.runs import services as traces
from traces.transitions import move

_KIND: Final = "replay"
_WAITING: Final = frozenset({SessionStatus.PENDING, SessionStatus.AWAITING_OPERATOR})
_COMPARISON_LIMIT: Final = 4  # times the takeover time
# Lost one after another at the same checkpoint: then the session itself crashes its workers.
_MAX_LOST_WORKERS: Final = 10


# A collection after it would scan the graph and payloads, which are free by then.
@without_pauses()
def preview(request: ReplayRequest, *, list_untouched: bool = True) -> Plan:
    """Plan a replay; nothing runs. Refusals are part of the plan."""
    return _prepare(request, list_untouched=list_untouched, use_cache=True).plan


def launch(request: ReplayRequest, key: Key | None = None, *, by: str = "") -> ReplaySession:
    """Start a replay.

    Raises `ReplayRefusal`. Repeating an idempotency key returns the session that it started.

    If the plan already violates the policy (a strict replay, or an unreadable recording), the session is stored as
    failed validation.
    """
    request_json = request.model_dump(mode="json", exclude_unset=True)
    if earlier_id := find_made(_KIND, key, request_json):
        return queries.find_session(earlier_id)
    preparation = _prepare(request, brief=True, verify=True)
    if preparation.request.engine is Engine.AGENT:
        tools = consents.tools_of_runner(preparation.plan.unintercepted_tools)
        runners.require_online(preparation.run.app, request.variables, tools)
    refusals = preparation.plan.refusals
    if refusal := next((refusal for refusal in refusals if not _fails_validation(refusal)), None):
        raise ReplayRefusal(refusal)

    def make() -> str:
        session = create.create(preparation, by=by)
        audit_log.append(
            AuditAction.REPLAY_STARTED,
            session.id,
            by=by,
            run=str(session.source_run_id),
            step=session.fork_sequence_no,
            profile=session.profile.digest,
            engine=session.engine,
        )
        if refusals:
            _refuse(session, refusals[0])
        else:
            event_log.append(session.id, "session")
            transaction.on_commit(partial(enqueue.send, task_names.EXECUTE, session.id))
        return str(session.id)

    return queries.find_session(make_once(_KIND, key, request_json, make))


def _prepare(request: ReplayRequest, **options: bool) -> PreparedReplay:
    """Plan a replay. An agent that runs is answered by the newest revision of the run: it has what arrived late."""
    preparation = prepare.prepare(request, **options)
    if preparation.request.engine is not Engine.AGENT:
        return preparation
    newest = runs.newest_revision_with_steps(preparation.run)
    if newest.id == preparation.run.id:
        return preparation
    changes = {"run": str(newest.id), "fork_step": preparation.fork, "engine": Engine.AGENT}
    newest_preparation = prepare.prepare(request.model_copy(update=changes), **options)
    if len(newest_preparation.plan.refusals) > len(preparation.plan.refusals):
        # The overrides name steps by the ids that they have in this revision.
        return preparation
    warning = "A newer revision of this run answers the agent: it has what arrived after this one."
    plan = newest_preparation.plan.model_copy(update={"warnings": [*newest_preparation.plan.warnings, warning]})
    return replace(newest_preparation, plan=plan)


def cancel(session_id: UUID) -> ReplaySession:
    """Cancel a session before its next call; a session that has ended does not change."""
    with transaction.atomic():
        # Lock the row, so that it cannot switch between waiting and running meanwhile.
        session = ReplaySession.objects.select_for_update().get(id=queries.find_session(session_id).id)
        if session.status in _WAITING:
            move(
                ReplaySession.objects.filter(id=session_id),
                SessionStatus(session.status),
                SessionStatus.CANCELLED,
                ended_at=datetime.now(UTC),
                owner="",
                question=None,
                variables={},
                current="",
            )
            container_status.cut_off(session)
            # Its agent may still run on a machine that cannot be reached: its calls get no further answers.
            Rerun.objects.filter(session=session_id, ended_at=None).update(ended_at=datetime.now(UTC))
            if session.run_id is not None:
                traces.seal_run(session.run_id, RunStatus.PARTIAL)
                observers.run_sealed(session.run_id)
                transaction.on_commit(partial(session_lifecycle.fire_end, session_id))
            event_log.append(session_id, "session")
        elif session.status == SessionStatus.RUNNING:
            # In one write: PostgreSQL checks the keys of a row that a transaction writes twice. It would wait for the
            # run, which the worker locks before the session.
            event_log.write(session_id, "session", columns={"cancel_requested": True}, condition={})
    return queries.find_session(session_id)


def answer(session_id: UUID, operator_answer: OperatorAnswer, *, by: str = "") -> ReplaySession:
    """Answer a session's question and resume it; repeating the same answer has no effect."""
    step, answer_json = str(operator_answer.sequence_no), operator_answer.model_dump(mode="json")
    with transaction.atomic():
        # Lock the row: another operator's answer may let the session go on to its next question meanwhile.
        session = ReplaySession.objects.select_for_update().get(id=queries.find_session(session_id).id)
        if "output" in answer_json:
            redaction = SessionRedaction(session.source_run.app)
            answer_json = {**answer_json, "output": redaction.field(StepType.TOOL, "output", answer_json["output"])}
        question = session.question
        is_current = question is not None and question["sequence_no"] == operator_answer.sequence_no
        if not is_current and session.answers.get(step) == answer_json:
            return session
        if session.status != SessionStatus.AWAITING_OPERATOR or question is None:
            raise SessionConflict(f"session {session_id} is {session.status} and does not wait for an answer")
        if question["sequence_no"] != operator_answer.sequence_no:
            raise SessionConflict(f"the question is about step {question['sequence_no']}", where="/sequence_no")
        if operator_answer.action == "run" and not question.get("may_run"):
            raise SessionConflict("this call cannot run; answer it, or use the fallback", where="/action")
        answers = {**session.answers, step: answer_json}
        is_resumed = _answer_agent if session.engine == Engine.AGENT else _resume
        if not is_resumed(session, operator_answer.sequence_no, answers):
            raise SessionConflict(f"session {session_id} has already been answered")
        audit_log.append(
            AuditAction.REPLAY_ANSWERED,
            session_id,
            by=by,
            step=operator_answer.sequence_no,
            answer=operator_answer.action,
        )
    return queries.find_session(session_id)


def _resume(session: ReplaySession, _: int, answers: JSONObject) -> bool:
    """Let a worker go on with a session; False if it does not wait."""
    is_resumed = move(
        ReplaySession.objects.filter(id=session.id),
        SessionStatus.AWAITING_OPERATOR,
        SessionStatus.PENDING,
        question=None,
        answers=answers,
        current="",
        operator_wait=wait_until_now(),
    )
    if is_resumed:
        event_log.append(session.id, "session")
        transaction.on_commit(partial(enqueue.send, task_names.EXECUTE, session.id))
    return bool(is_resumed)


def _answer_agent(session: ReplaySession, no: int, answers: JSONObject) -> bool:
    """Give a running agent its answer; False if it does not wait for one."""
    if session.rerun is None or not questions.answer(session.rerun, no, as_object(answers[str(no)])):
        return False
    ReplaySession.objects.filter(id=session.id).update(answers=answers)
    return True


def take_over(observer: leases.Observer) -> None:
    """Requeue the sessions of dead workers, and give up sessions that crash every worker."""
    for abandoned_claim in observer.find_abandoned():
        crashing = ReplaySession.objects.filter(id=abandoned_claim.session_id, lost_workers__gte=_MAX_LOST_WORKERS)
        if crashing.exists():
            runner.give_up(abandoned_claim)
        elif leases.release(abandoned_claim):
            event_log.append(abandoned_claim.session_id, "session")


def requeue_unfinished(queue_length: int = 0) -> int:
    """Queue pending work unless the queue already has that many messages; returns how many were added.

    Queueing twice is harmless: only one worker can claim a session, and a diff is computed once.
    """
    # Runners look for the sessions of agents themselves.
    pending = ReplaySession.objects.filter(status=SessionStatus.PENDING, engine=Engine.FOLLOW)
    startable = observers.startable(pending)
    pending_tasks = [(task_names.EXECUTE, session) for session in startable.values_list("id", flat=True)]
    pending_tasks += [(task_names.COMPARE, session) for session in _overdue_comparisons()]
    if len(pending_tasks) <= queue_length:
        return 0
    for task, session in pending_tasks:
        enqueue.send(task, session)
    return len(pending_tasks)


def _overdue_comparisons() -> list[UUID]:
    """Completed sessions whose comparison is overdue; each is returned once per overdue interval."""
    limit = datetime.now(UTC) - timedelta(seconds=_COMPARISON_LIMIT * settings.TAKEOVER_S)
    completed_sessions = ReplaySession.objects.filter(status__in=COMPLETED, compared_at=None, heartbeat_at__lte=limit)
    session_ids = list(completed_sessions.values_list("id", flat=True))
    ReplaySession.objects.filter(id__in=session_ids, compared_at=None).update(heartbeat_at=datetime.now(UTC))
    return session_ids


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
        variables={},
        ended_at=datetime.now(UTC),
    )
    event_log.append(session.id, "session")
