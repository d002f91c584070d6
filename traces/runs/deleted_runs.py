"""Deleted runs: hidden at once, removed later, and named in the error of every request for them."""

from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from traces.core.vocabulary import AuditAction
from traces.errors import NotFound
from traces.models import AuditEntry, Deletion, Run

_TIME: Final = "%Y-%m-%d %H:%M UTC"


class RunDeleted(NotFound):
    """A run that was deleted."""


def visible_runs() -> QuerySet[Run]:
    """Return the runs that are not deleted."""
    return Run.objects.filter(deletion__isnull=True)


def check_visible(run: Run) -> Run:
    """Return a run, selected with its `deletion`; raise `RunDeleted` if it is hidden or removed."""
    deletion: Deletion | None = getattr(run, "deletion", None)
    if deletion is None:
        return run
    author = f" by {deletion.by}" if deletion.by else ""
    text = f"run {run.id} was deleted{author} on {deletion.at:{_TIME}}"
    if deletion.removed_at is None:
        text += f"; it can be restored until {deletion.due_at:{_TIME}}"
    raise RunDeleted(text)


def missing(run_id: UUID) -> NotFound:
    """Return the error for a run that does not exist: it was deleted, or there never was one."""
    entries = AuditEntry.objects.filter(subject=str(run_id), action=AuditAction.RUN_REMOVED)
    at = entries.order_by("-id").values_list("at", flat=True).first()
    if at is None:
        return NotFound(f"there is no run “{run_id}”")
    return RunDeleted(f"run {run_id} was deleted; its contents were removed on {at:{_TIME}}")
