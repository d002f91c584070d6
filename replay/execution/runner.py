"""Run a replay session: claim it, replay it, and leave it in one of its end states."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog
from django.db import close_old_connections, connection, transaction
from django.db.models.functions import Now

from diffing import services as diffing
from replay.core import applied_profile
from replay.core.errors import CancelRequest, LostOwnership, OperatorWait, ReplayFailure, SessionHandover
from replay.core.vocabulary import COMPLETED, Engine, SessionStatus
from replay.engine.replayer import Replayer
from replay.execution import event_log, leases, observers
from replay.execution.calls.attempts import AttemptJournal
from replay.execution.derived_run import container_status
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.execution.derived_run.open_run import open_run
from replay.execution.derived_run.step_writer import StepWriter
from replay.execution.execution import ExecutionFactory, ordinary_execution
from replay.execution.session_row import SessionRow
from replay.hooks import session_lifecycle
from replay.live import outages, tools
from replay.models import ReplaySession
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.resolution.lost_recordings import ARTIFACT_MISSING
from replay.store.fork import build_fork
from replay.store.graph_loader import load_graph
from replay.store.losses import find_losses
from replay.store.payload_reader import Payloads
from traces import notify
from traces.call_index import ignore_lists
from traces.core.vocabulary import RunStatus
from traces.errors import StorageRefuses
from traces.payloads.parts import MissingPart
from traces.runs import services as traces
from traces.transitions import move

logger = structlog.get_logger("replay")
# Woken when an agent is to be started. One group for all apps: their names need not be valid group names.
RUNNERS: Final = "runners"
# Outages of the database or the artifact storage during one claim of a session.
_MAX_OUTAGES: Final = 20


def execute(session_id: UUID, make_execution: ExecutionFactory = ordinary_execution) -> bool:
    """Execute a pending session until it ends or waits; True if it completed.

    A session in which the agent itself runs is left to the runners of its app, which are woken.
    """
    if ReplaySession.objects.filter(id=session_id, engine=Engine.AGENT).exists():
        notify.touch(RUNNERS)
        return False
    owner = leases.new_owner()
    if not leases.claim(session_id, owner):
        return False
    with _heartbeat(session_id, owner), tools.connection_scope(str(session_id)):
        for _ in range(_MAX_OUTAGES):
            try:
                return _run(session_id, owner, make_execution)
            except outages.OUTAGE_ERRORS as error:
                if not outages.is_outage(error):
                    raise
                connection.close()
                logger.warning("store_away", session_id=str(session_id), error=str(error).partition("\n")[0])
                outages.wait_for_storage(error)
            # The replay restarts at the last checkpoint; answers received since then are stored in the attempts.
            if not outages.retry_through_outage(lambda: leases.beat(session_id, owner)):
                return False
        error_text = f"the database or the artifact storage went away {_MAX_OUTAGES} times"
        _end(session_id, owner, SessionStatus.FAILED_EXECUTION, code="dependency_unavailable", error=error_text)
    return False


def give_up(abandoned_claim: leases.Claim) -> None:
    """End a session that crashes every worker."""
    error = "gave up: one worker after another crashed on this session without completing a step"
    _end(
        abandoned_claim.session_id,
        abandoned_claim.owner,
        SessionStatus.FAILED_EXECUTION,
        code="worker_lost",
        error=error,
    )


def compare(session_id: UUID) -> None:
    """Diff source and derived run; a failed diff is logged, and the session stays completed."""
    session = ReplaySession.objects.get(id=session_id)
    if session.run_id is None or session.status not in COMPLETED:
        return
    diff_id: UUID | None = None
    try:
        if observers.wants_diff(session_id):
            report = diffing.diff(base_id=session.source_run_id, candidate_id=session.run_id, by=session.by)
            diff_id = report.id
    except Exception as error:
        if outages.is_outage(error):
            raise
        # The replay is complete without its diff, which can be requested again at any time.
        logger.exception("diff_failed", session_id=str(session_id))
    with transaction.atomic():
        ReplaySession.objects.filter(id=session_id).update(diff_id=diff_id, compared_at=Now())
        event_log.append(session_id, "session")


def _run(session_id: UUID, owner: str, make_execution: ExecutionFactory) -> bool:
    """Replay from the last checkpoint; raises only outages and internal errors."""
    try:
        return _replay(session_id, owner, make_execution)
    except LostOwnership:
        logger.warning("session_taken_over", session_id=str(session_id))
    except OperatorWait:
        logger.info("session_waits_for_operator", session_id=str(session_id))
    except SessionHandover:
        if leases.give_back(session_id, owner):
            event_log.append(session_id, "session")
    except CancelRequest:
        _end(session_id, owner, SessionStatus.CANCELLED)
    except ReplayFailure as stop:
        _end(session_id, owner, _failure(stop.code), code=stop.code, error=str(stop), step=stop.step)
    except (MissingPart, StorageRefuses) as failure:
        _end(session_id, owner, _failure(failure.code), code=failure.code, error=str(failure))
    except Exception as error:
        if outages.is_outage(error):
            raise
        # Whatever the error: a session must never stay `running` without a worker.
        logger.exception("session_failed", session_id=str(session_id))
        _end(
            session_id,
            owner,
            SessionStatus.FAILED_EXECUTION,
            code="internal_error",
            error=f"internal error: {error or type(error).__name__}; the server log has the details",
        )
        raise
    return False


def _failure(code: str) -> SessionStatus:
    """End state for an error code: an unreadable source is a failed validation, not a failed execution."""
    return SessionStatus.FAILED_VALIDATION if code == ARTIFACT_MISSING else SessionStatus.FAILED_EXECUTION


def _replay(session_id: UUID, owner: str, make_execution: ExecutionFactory) -> bool:
    session = ReplaySession.objects.select_related("source_run", "profile").get(id=session_id)
    overrides = OverrideProfile.model_validate(session.profile.profile)
    policy, payloads = Policy.model_validate(session.policy), Payloads()
    # The ignore list of the plan, even if another one is active by now.
    ignoring = ignore_lists.get_version(session.source_run.app, session.plan.get("ignore_list", 0))
    execution = make_execution(session, payloads)
    hooks = session_lifecycle.begin(session, taken_over=session.run_id is not None)
    row = SessionRow(session, owner)
    journal = AttemptJournal(row, policy, hooks)
    checkpoints = Checkpoints(row, policy, ignoring, journal)
    writer = StepWriter(checkpoints)
    committed_steps = open_run(row)
    writer.copy_before(session.fork_sequence_no)
    start_outcome = session_lifecycle.fire_start(hooks, session)
    if not applied_profile.changes_anything(overrides, policy):
        writer.reuse_all()
    else:
        losses = find_losses(session.source_run_id, session.source_run.step_count, first=session.fork_sequence_no)
        source_graph = load_graph(
            session.source_run_id, session.fork_sequence_no, losses, counterpart=execution.counterpart
        )
        graph = execution.extend_graph(source_graph)
        environment = execution.environment(checkpoints, journal, payloads, committed_steps)
        fork = build_fork(graph, overrides, policy, payloads)
        replayer = Replayer(fork.context(environment, ignoring), hooks)
        replayer.apply_start_outcome(start_outcome)
        writer.follow(replayer, execution.inspect)
    writer.finish()
    session_lifecycle.fire_end(session_id)
    return True


def _end(
    session_id: UUID, owner: str, status: SessionStatus, *, code: str = "", error: str = "", step: int | None = None
) -> None:
    """Move the session to an end state, and seal its run as failed."""
    with transaction.atomic():
        owned_row = ReplaySession.objects.filter(id=session_id, owner=owner)
        is_moved = move(
            owned_row,
            SessionStatus.RUNNING,
            status,
            error_code=code,
            error=error,
            error_sequence_no=step,
            current="",
            owner="",
            variables={},
            ended_at=datetime.now(UTC),
        )
        if not is_moved:
            return
        session = ReplaySession.objects.get(id=session_id)
        container_status.cut_off(session)
        if session.run_id is not None:
            # Who cancels a replay says nothing about its outcome.
            is_cancelled = status == SessionStatus.CANCELLED
            traces.seal_run(session.run_id, RunStatus.PARTIAL if is_cancelled else RunStatus.FAILED)
            observers.run_sealed(session.run_id)
        event_log.append(session_id, "session")
    session_lifecycle.fire_end(session_id)


@contextmanager
def _heartbeat(session_id: UUID, owner: str) -> Iterator[None]:
    """Write heartbeats in a separate thread, since a live call can outlast the interval."""
    stop = threading.Event()

    def beat() -> None:
        try:
            while not stop.wait(leases.beat_s()):
                close_old_connections()
                # During a database outage no worker can take the session over: the next beat is soon enough.
                if not outages.if_reachable(lambda: leases.beat(session_id, owner), fallback=True):
                    break
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"heartbeat-{session_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
