"""Write the captions of runs."""

from uuid import UUID

from traces import notify
from traces.core.schema import ForkChange
from traces.models import RunCaption


def describe_fork(run_id: UUID, change: ForkChange) -> None:
    """Store what a new fork changes."""
    RunCaption.objects.create(run_id=run_id, change=change.model_dump())


def rename(run_id: UUID, **columns: str) -> None:
    """Set the name or the note that users gave a run."""
    RunCaption.objects.update_or_create(run_id=run_id, defaults=columns)
    notify.touch("runs")
    notify.touch(f"run.{run_id}")
