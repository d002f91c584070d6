"""Work for the workers, and which features hear of it: the one place that knows them all.

Arguments are ids; the database is the truth, and the queue a hint.
"""

from uuid import UUID

from celery import shared_task

from replay import observers, outages, runner, stopping
from replay.bisecting import progress as bisecting
from replay.experiments import judging, progress
from replay.lanes import attaching
from replay.langfuse import exporting
from replay.proving import executing
from replay.proving import running as proving
from replay.task_names import COMPARE, EXECUTE, PROVE
from replay.trials import running as trying
from traces import ignore_lists, queueing

observers.compose([progress.ExperimentObserver(), exporting.ExportObserver()])


@shared_task
def execute(session_id: str) -> None:
    """Run a replay session to its end, or to the operator's next answer.

    A worker that was asked to end leaves it to another one.
    """
    if stopping.begun():
        return
    session = UUID(session_id)
    try:
        if runner.execute(session, executing.execution_of):
            queueing.put(COMPARE, session)
    finally:
        next_ones = [session] if stopping.begun() else outages.patiently(lambda: _whose_turn_it_is(session))
        for waiting in next_ones:
            queueing.put(EXECUTE, waiting)
        for proof in outages.patiently(lambda: proving.advance_after(session)):
            queueing.put(PROVE, proof)


@shared_task
def prove(proof_id: str) -> None:
    """Get on with a proof until it waits for a session, or is over."""
    for session in [] if stopping.begun() else proving.advance(UUID(proof_id)):
        queueing.put(EXECUTE, session)


@shared_task
def compare(session_id: str) -> None:
    """Diff a finished replay against its source, and give the result to what it was made for."""
    runner.compare(UUID(session_id))
    judging.judge(UUID(session_id))
    attaching.attach(UUID(session_id))


@shared_task
def try_out(trial_id: str) -> None:
    """Make the one call of a trial."""
    trying.run(UUID(trial_id))


@shared_task
def sign_calls(list_id: str) -> None:
    """Sign the recorded calls of an app under a new ignore list, which holds from then on."""
    ignore_lists.sign_by_id(int(list_id))


def _whose_turn_it_is(stopped: UUID) -> list[UUID]:
    return [*progress.release_after(stopped), *bisecting.advance_after(stopped)]


@shared_task
def export_langfuse(export_id: str) -> None:
    """Go on with the export of a run to Langfuse."""
    exporting.work(UUID(export_id))
