"""Which session a runner works on: claimed, adopted after a lost connection, or lost."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from replay.core.vocabulary import Engine, SessionStatus
from replay.execution import event_log, leases, observers
from replay.models import ReplaySession, Rerun, Runner
from replay.questions import services as questions
from replay.reruns import services as reruns
from replay.reruns.schemas import RerunBudget
from replay.runners import queries as runners
from traces.core.json_types import JSONValue
from traces.transitions import move


def claim(runner: Runner, *, except_for: Collection[UUID] = ()) -> ReplaySession | None:
    """Give a runner the oldest session of its app that waits for one, ready to start its agent; None if none waits."""
    for session in _waiting(runner).exclude(id__in=except_for).order_by("created_at"):
        with transaction.atomic():
            # Reviews and runners may differ from those when it was planned.
            tools = runners.tools_to_allow(session.plan, session.held_back_tools)
            if not (runner.allows(session.variables, tools) and _take(session.id, runner)):
                continue
            session = ReplaySession.objects.select_related("source_run", "profile", "rerun").get(id=session.id)
            _begin(session, runner)
            event_log.append(session.id, "session")
        return session
    return None


def adopt(session_id: UUID, runner: Runner) -> ReplaySession | None:
    """Continue a session whose agent this runner has not stopped; None if it is not this runner's any more."""
    with transaction.atomic():
        sessions = ReplaySession.objects.filter(id=session_id, runner=runner, rerun__ended_at=None)
        # One that waits for an answer goes on waiting.
        is_asking = sessions.filter(status=SessionStatus.AWAITING_OPERATOR, question__isnull=False)
        if is_asking.update(owner=runner.connection):
            return sessions.select_related("source_run", "rerun").get()
        is_mine = sessions.filter(status=SessionStatus.RUNNING).update(owner=runner.connection, heartbeat_at=Now())
        if not is_mine and not (sessions.exists() and _take(session_id, runner)):
            return None
        for session in ReplaySession.objects.filter(id=session_id):
            ReplaySession.objects.filter(id=session_id).update(current="", takeovers=_takeovers(session))
        event_log.append(session_id, "session")
    return ReplaySession.objects.select_related("source_run", "rerun").get(id=session_id)


def lose(session_id: UUID, runner: Runner) -> None:
    """Let a session wait for its runner, which has lost its connection, or for another one."""
    with transaction.atomic():
        is_moved = move(
            ReplaySession.objects.filter(id=session_id, owner=runner.connection),
            SessionStatus.RUNNING,
            SessionStatus.AWAITING_OPERATOR,
            owner="",
            heartbeat_at=Now(),
            current=f"The runner {runner.name} is away; the session goes on when it or another one is back",
        )
        # Its agent waits for an answer.
        ReplaySession.objects.filter(id=session_id, owner=runner.connection).update(owner="")
        if is_moved:
            event_log.append(session_id, "session")


def restart(session: ReplaySession, runner: Runner) -> None:
    """Prepare another start of an agent that was killed: it gets the answers that it got before."""
    with transaction.atomic():
        questions.withdraw(session.id)
        _begin(session, runner)
        event_log.append(session.id, "session")


def _waiting(runner: Runner) -> QuerySet[ReplaySession]:
    """Return the sessions that wait for a runner of the app.

    One that was lost is its runner's for a while. One that waits for consent is free for all that allow its tools.
    """
    sessions = ReplaySession.objects.filter(engine=Engine.AGENT, source_run__app=runner.app, cancel_requested=False)
    startable = observers.startable(sessions.filter(status=SessionStatus.PENDING)).values("id")
    is_away = Q(status=SessionStatus.AWAITING_OPERATOR)
    patience = timedelta(seconds=settings.TAKEOVER_S)
    is_lost = Q(runner__connection="", runner__last_seen_at__lt=Now() - patience)
    is_free = Q(runner=None) | Q(runner=runner) | is_lost | ~Q(held_back_tools=[])
    return sessions.filter(is_free, is_away | Q(id__in=startable))


def _take(session_id: UUID, runner: Runner) -> bool:
    sessions = ReplaySession.objects.filter(id=session_id)
    move(sessions, SessionStatus.AWAITING_OPERATOR, SessionStatus.PENDING)
    return leases.claim(session_id, runner.connection)


def _takeovers(session: ReplaySession) -> list[JSONValue]:
    """Return the takeovers of a session that goes on. Its agent has, or gets again, the answers up to this step."""
    return [*session.takeovers, [datetime.now(UTC).isoformat(), session.checkpoint_no, 0]]


def _begin(session: ReplaySession, runner: Runner) -> None:
    """Create the rerun of a session at its first start, or open it for another start."""
    if session.rerun is None:
        session.rerun = Rerun.objects.create(
            source_run=session.source_run,
            tools_to_run=runner.tools_to_run,
            tools_to_ask=runner.tools_to_ask,
            tools_with_hook=runner.tools_with_hook,
            by=session.by,
            profile=session.profile,
            fork_sequence_no=session.fork_sequence_no,
            budget=RerunBudget.model_validate(
                {name: session.policy["budget"][name] for name in RerunBudget.model_fields}
            ).model_dump(exclude_none=True),
            is_live="model" in session.policy["allow"] and not session.policy["strict"],
        )
    else:
        # Another user may have started this runner, and allow other tools.
        session.rerun.tools_to_run = runner.tools_to_run
        session.rerun.tools_to_ask = runner.tools_to_ask
        session.rerun.tools_with_hook = runner.tools_with_hook
        reruns.begin_again(session.rerun)
        session.takeovers = _takeovers(session)
    session.runner = runner
    ReplaySession.objects.filter(id=session.id).update(
        rerun=session.rerun,
        runner=runner,
        # The deadline counts from here: while no agent ran, none could end.
        started_at=Now(),
        operator_wait=timedelta(0),
        current="",
        question=None,
        held_back_tools=[],
        takeovers=session.takeovers,
        planned_steps=session.source_run.step_count,
    )
