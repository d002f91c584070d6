"""Time for recordings, without waiting."""

from datetime import timedelta

from django.db.models import F

from traces.models import Recording
from traces.recordings import assembler


def let_pass(seconds: float) -> None:
    """Let time pass for all recordings, and run the assembler until nothing is due."""
    interval = timedelta(seconds=seconds)
    Recording.objects.update(arrived_at=F("arrived_at") - interval, interrupted_at=F("interrupted_at") - interval)
    Recording.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - interval, refresh_at=None)
    while assembler.work():
        pass
