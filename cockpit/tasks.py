"""What happens by the clock."""

from celery import shared_task

from replay import services


@shared_task
def requeue_unfinished() -> None:
    """Go on with replays whose worker is gone."""
    services.requeue_unfinished()
