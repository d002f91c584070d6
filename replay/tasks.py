"""Celery tasks, and the observers of sessions: the one module that knows all features.

Arguments are ids: the database is the truth, the queue a hint.
"""

from uuid import UUID

from celery import shared_task

from replay.bisection import scheduler as bisecting
from replay.calibration import agent_starts
from replay.control_replays import attach
from replay.execution import runner
from replay.execution.observers import SessionObserver
from replay.execution.task_names import COMPARE, EXECUTE, PROVE
from replay.experiments import scheduler, scoring
from replay.langfuse import export_worker
from replay.live import outages, shutdown
from replay.proofs import driver as proving
from replay.proofs.probes import session_probe
from replay.trials import runner as trying
from traces import enqueue
from traces.call_index import ignore_lists
from traces.judgements import rule_changes


def session_observers() -> list[SessionObserver]:
    """Return the observers of all features."""
    return [
        scheduler.ExperimentObserver(),
        export_worker.ExportObserver(),
        session_probe.ProofObserver(),
        agent_starts.AgentCalibrationObserver(),
    ]


@shared_task
def execute(session_id: str) -> None:
    """Run a replay session until it ends or waits for the operator.

    A worker that is shutting down leaves the session to another one.
    """
    if shutdown.is_requested():
        return
    session = UUID(session_id)
    try:
        if runner.execute(session, session_probe.make_execution):
            enqueue.send(COMPARE, session)
    finally:
        next_sessions = (
            [session] if shutdown.is_requested() else outages.retry_through_outage(lambda: _startable_sessions(session))
        )
        for waiting in next_sessions:
            enqueue.send(EXECUTE, waiting)
        for proof in outages.retry_through_outage(lambda: proving.advance_after(session)):
            enqueue.send(PROVE, proof)


@shared_task
def prove(proof_id: str) -> None:
    """Advance a proof until it waits for a session or ends."""
    for session in [] if shutdown.is_requested() else proving.advance(UUID(proof_id)):
        enqueue.send(EXECUTE, session)


@shared_task
def compare(session_id: str) -> None:
    """Diff a finished replay against its source, and pass the result to the feature that created it."""
    runner.compare(UUID(session_id))
    scoring.judge(UUID(session_id))
    attach.attach(UUID(session_id))
    agent_starts.compare_after(UUID(session_id))


@shared_task
def try_out(trial_id: str) -> None:
    """Run the single call of a trial."""
    trying.run(UUID(trial_id))


@shared_task
def sign_calls(list_id: str) -> None:
    """Sign the recorded calls of an app under a new ignore list, and activate the list."""
    ignore_lists.sign_by_id(int(list_id))


@shared_task
def apply_outcome_rule(rule_id: str) -> None:
    """Update the outcomes of an app's runs after its outcome rule changed."""
    rule_changes.apply(int(rule_id))


def _startable_sessions(session: UUID) -> list[UUID]:
    return [*scheduler.release_after(session), *bisecting.advance_after(session)]


@shared_task
def export_langfuse(export_id: str) -> None:
    """Continue the export of a run to Langfuse."""
    export_worker.work(UUID(export_id))
