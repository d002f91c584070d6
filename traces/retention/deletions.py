"""Request the deletion of runs, and restore runs whose contents still exist."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from traces import notify
from traces.core.vocabulary import AuditAction
from traces.errors import NotFound, NotSealed, ProblemError, RunInUse
from traces.models import Deletion, Run
from traces.retention import audit, citations, holds
from traces.retention.citations import Citation
from traces.retention.families import with_relatives

_MAX_REASON: Final = 200


class RunHeld(ProblemError):
    """A run under legal hold."""

    code = "conflict"
    status = 409


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a run was not deleted; `citations` name what cites it."""

    run_id: UUID
    problem: ProblemError
    citations: Sequence[Citation] = ()


def delete(
    run_ids: Sequence[UUID], *, by: str, includes_citations: bool = False, at_once: bool = False, reason: str = ""
) -> list[Deletion | Refusal]:
    """Hide runs with the revisions that they continue, and schedule the removal of their contents.

    A cited run is refused unless `includes_citations`; `at_once`: without the time to restore it.
    """
    results: list[Deletion | Refusal] = []
    with transaction.atomic():
        families = {run_id: with_relatives(run_id) for run_id in run_ids}
        all_ids = {id for family in families.values() for id in family}
        for run_id, family in families.items():
            refusal = _refusal(run_id, family, all_ids, includes_citations=includes_citations)
            if refusal is not None:
                results.append(refusal)
                continue
            results.append(
                _hide(run_id, family, by=by, reason=reason, includes_citations=includes_citations, at_once=at_once)
            )
        notify.touch("runs")
    return results


def restore(run_id: UUID, *, by: str) -> None:
    """Show a hidden run again, with the revisions that were hidden with it; raise `NotFound`."""
    with transaction.atomic():
        pending = Deletion.objects.filter(run__in=with_relatives(run_id), removed_at__isnull=True)
        if not pending.filter(run=run_id).exists():
            raise NotFound(f"run {run_id} is not deleted, or it can no longer be restored")
        pending.delete()
        audit.append(AuditAction.RUN_RESTORED, run_id, by=by)
        notify.touch("runs")
        notify.touch(f"run.{run_id}")


def find_citations(run_id: UUID) -> list[Citation]:
    """Return what cites a run or a revision that would be deleted with it."""
    family = with_relatives(run_id)
    return [*citations.find_work(family), *citations.find(family)]


def _hide(
    run_id: UUID, family: Sequence[UUID], *, by: str, reason: str, includes_citations: bool, at_once: bool
) -> Deletion:
    now = datetime.now(UTC)
    due_at = now if at_once else now + timedelta(seconds=settings.DELETION_GRACE_S)
    columns = {
        "by": by,
        "reason": reason[:_MAX_REASON],
        "includes_citations": includes_citations,
        "at": now,
        "due_at": due_at,
    }
    removed_ids = set(
        Deletion.objects.filter(run__in=family, removed_at__isnull=False).values_list("run_id", flat=True)
    )
    for id in family:
        if id in removed_ids:
            continue
        # Again for a run that is hidden already: the later request decides.
        Deletion.objects.update_or_create(run_id=id, removed_at=None, defaults=columns)
    audit.append(AuditAction.RUN_DELETED, run_id, by=by, reason=reason, runs=len(family), due_at=due_at.isoformat())
    notify.touch(f"run.{run_id}")
    return Deletion.objects.get(run_id=run_id)


def _refusal(run_id: UUID, family: Sequence[UUID], all_ids: set[UUID], *, includes_citations: bool) -> Refusal | None:
    """Return why a run cannot be deleted with its family; citations by runs that are deleted, too, do not count."""
    runs = Run.objects.filter(id__in=family)
    if open_run := runs.filter(sealed_at__isnull=True).first():
        problem = f"run {open_run.id} is still being recorded; delete it when it has ended"
        return Refusal(run_id=run_id, problem=NotSealed(problem))
    if held_run := holds.first_held(runs):
        return Refusal(run_id=run_id, problem=RunHeld(f"run {held_run} is under legal hold"))
    work = citations.find_work(family)
    if work:
        return Refusal(run_id=run_id, problem=RunInUse([*map(str, work)]), citations=work)
    cited_by = [] if includes_citations else [item for item in citations.find(family) if item.id not in all_ids]
    if cited_by:
        return Refusal(run_id=run_id, problem=RunInUse([*map(str, cited_by)]), citations=cited_by)
    return None
