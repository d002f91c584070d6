"""Deleted runs: hidden at once, removed later, and named in the error of every request for them."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from traces.core.vocabulary import AuditAction
from traces.errors import NotFound
from traces.models import AuditEntry, Deletion, Run
from traces.storage import bulk

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


def lock(run_ids: Collection[UUID]) -> set[UUID]:
    """Keep runs from being deleted until the end of the transaction; return those that exist."""
    # In one order, so that two transactions that lock several runs cannot deadlock.
    runs = Run.objects.select_for_update(no_key=True).order_by("id")
    return {id for ids in bulk.chunks(sorted(run_ids)) for id in runs.filter(id__in=ids).values_list("id", flat=True)}


def hold(run_ids: Collection[UUID]) -> None:
    """Keep runs from being deleted until the end of the transaction; raise `RunDeleted` if one is deleted already.

    What refers to runs is stored in a transaction that calls this: since they were found, they may have been deleted.
    """
    for run_id in {*run_ids} - lock(run_ids):
        raise missing(run_id)
    # In a statement of its own, which sees what was committed before the locks.
    for deletion in Deletion.objects.filter(run__in=run_ids).select_related("run"):
        check_visible(deletion.run)


def missing(run_id: UUID) -> NotFound:
    """Return the error for a run that does not exist: it was deleted, or there never was one."""
    entries = AuditEntry.objects.filter(subject=str(run_id), action=AuditAction.RUN_REMOVED)
    at = entries.order_by("-id").values_list("at", flat=True).first()
    if at is None:
        return NotFound(f"there is no run “{run_id}”")
    return RunDeleted(f"run {run_id} was deleted; its contents were removed on {at:{_TIME}}")
