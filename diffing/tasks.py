"""Background task for reports that need the embedding model, which is too large for a web process."""

from uuid import UUID

from celery import shared_task

from diffing import compute as reports


@shared_task
def compute(diff_id: str) -> None:
    """Compute one report."""
    try:
        reports.compute(UUID(diff_id))
    except Exception as error:
        reports.give_up(
            UUID(diff_id), f"internal error: {error or type(error).__name__}; the server log has the details"
        )
        raise
