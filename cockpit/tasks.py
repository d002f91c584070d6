"""What happens by the clock."""

from celery import shared_task

from diffing import services as diffs
from replay import services as replays
from replay.experiments import services as experiments


@shared_task
def requeue_unfinished() -> None:
    """Go on with replays, experiments and reports whose worker is gone."""
    replays.requeue_unfinished()
    experiments.requeue_unfinished()
    diffs.requeue_unfinished()
