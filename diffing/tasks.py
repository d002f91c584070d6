"""Reports that need the embedding model are made by a worker: it is too large for a web process."""

from uuid import UUID

from celery import shared_task

from diffing import runner


@shared_task
def compute(diff_id: str) -> None:
    """Make one report."""
    try:
        runner.compute(UUID(diff_id))
    except Exception as error:
        runner.give_up(UUID(diff_id), f"{type(error).__name__}: {error}")
        raise
