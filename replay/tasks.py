"""Work for the workers. Arguments are ids; the database is the truth, and the queue a hint."""

from uuid import UUID

from celery import shared_task

from replay import runner


@shared_task
def execute(session_id: str) -> None:
    """Run a replay session to its end, or to the operator's next answer."""
    if runner.execute(UUID(session_id)):
        compare.delay(session_id)


@shared_task
def compare(session_id: str) -> None:
    """Diff a finished replay against its source."""
    runner.compare(UUID(session_id))
