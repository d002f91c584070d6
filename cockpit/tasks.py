"""What happens by the clock."""

from celery import shared_task

from diffing import services as diffs
from replay import services as replays


@shared_task
def requeue_unfinished() -> None:
    """Go on with replays and reports whose worker is gone."""
    replays.requeue_unfinished()
    diffs.requeue_unfinished()
