"""Request the deletion of runs, and restore runs whose contents still exist."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from traces import notify
from traces.audit import audit_log
from traces.core.json_access import as_string
from traces.core.vocabulary import AuditAction
from traces.errors import NotFound, NotSealed, ProblemError, RunInUse
from traces.models import AuditEntry, Deletion, Run, RunCaption
from traces.retention import citations, holds
from traces.retention.citations import Citation
from traces.retention.families import find_families, with_relatives
from traces.retention.schemas import DeletionView
from traces.runs import deleted_runs, sealed_runs

_MAX_REASON: Final = 200
# Runs that one query may name: SQLite limits its parameters.
_MAX_BATCH: Final = 5_000


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
    run_ids: Sequence[UUID],
    *,
    by: str,
    includes_citations: bool = False,
    at_once: bool = False,
    reasons: Mapping[UUID, str] | None = None,
) -> list[Deletion | Refusal]:
    """Hide runs with the revisions that they continue, and schedule the removal of their contents.

    A cited run is refused unless `includes_citations`; `at_once`: without the time to restore it. `reasons` name the
    policies that delete the runs.
    """
    results: list[Deletion | Refusal] = []
    with transaction.atomic():
        families = _lock_families(run_ids)
        refusals = _refusals(families, holds.stored_scopes(), includes_citations=includes_citations)
        for run_id, family in families.items():
            reason = (reasons or {}).get(run_id, "")
            results.append(
                refusals.get(run_id)
                or _hide(run_id, family, by=by, reason=reason, includes_citations=includes_citations, at_once=at_once)
            )
        notify.touch("runs")
    return results


def _lock_families(run_ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Return the family of each run without what was removed since it was found; nothing new can cite these runs."""
    families = find_families(run_ids)
    existing_ids = deleted_runs.lock({id for family in families.values() for id in family})
    return {run_id: [id for id in family if id in existing_ids] for run_id, family in families.items()}


def find_refusals(run_ids: Sequence[UUID], scopes: Iterable[holds.Scope]) -> dict[UUID, Refusal]:
    """Return the runs that `delete` would refuse together; `scopes` are the policies that hold runs."""
    return _refusals(find_families(run_ids), list(scopes), includes_citations=False)


def _display_name(run: Run) -> str:
    caption: RunCaption | None = getattr(run, "caption", None)
    return (caption.title if caption else "") or run.name


def find_deletion(run_id: UUID) -> DeletionView:
    """Return the deletion of a run, from the audit log once its row is gone; raise `NotFound`."""
    row = Deletion.objects.select_related("run__caption").filter(run_id=run_id).first()
    if row is not None:
        return DeletionView(
            id=run_id,
            name="" if row.removed_at else _display_name(row.run),
            by=row.by,
            reason=row.reason,
            at=row.at,
            due_at=row.due_at,
            removed_at=row.removed_at,
        )
    entries = AuditEntry.objects.filter(subject=str(run_id)).order_by("-id")
    removal = entries.filter(action=AuditAction.RUN_REMOVED).first()
    if removal is None:
        raise NotFound(f"run {run_id} is not deleted")
    request = entries.filter(action=AuditAction.RUN_DELETED).first() or removal
    reason = as_string(request.detail.get("reason"))
    return DeletionView(
        id=run_id, name="", by=request.by, reason=reason, at=request.at, due_at=None, removed_at=removal.at
    )


def restore(run_id: UUID, *, by: str) -> None:
    """Show a hidden run again, with the revisions that were hidden with it; raise `NotFound`."""
    with transaction.atomic():
        # Once it is due, its steps may be gone already.
        pending = Deletion.objects.filter(
            run__in=with_relatives(run_id), removed_at__isnull=True, due_at__gt=datetime.now(UTC)
        )
        if not pending.filter(run=run_id).exists():
            raise NotFound(f"run {run_id} is not deleted, or it can no longer be restored")
        ids = list(pending.values_list("run_id", flat=True))
        pending.delete()
        sealed_runs.show(ids)
        audit_log.append(AuditAction.RUN_RESTORED, run_id, by=by)
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
    # Their contents are removed, or about to be.
    is_over = Q(removed_at__isnull=False) | Q(due_at__lte=now)
    lost_ids = set(Deletion.objects.filter(is_over, run__in=family).values_list("run_id", flat=True))
    sealed_runs.hide(family)
    citations.stop_reading(family)
    for id in family:
        if id in lost_ids:
            continue
        # Again for a run that is hidden already: the later request decides.
        Deletion.objects.update_or_create(run_id=id, removed_at=None, defaults=columns)
    audit_log.append(AuditAction.RUN_DELETED, run_id, by=by, reason=reason, runs=len(family), due_at=due_at.isoformat())
    notify.touch(f"run.{run_id}")
    return Deletion.objects.get(run_id=run_id)


def _refusals(
    families: Mapping[UUID, Sequence[UUID]], scopes: Sequence[holds.Scope], *, includes_citations: bool
) -> dict[UUID, Refusal]:
    """Return the runs that cannot be deleted; citations by what is deleted with them do not count."""
    lost_ids = [run_id for run_id, family in families.items() if run_id not in family]
    if lost_ids:
        families = {run_id: family for run_id, family in families.items() if run_id not in lost_ids}
        refusals_by_id = _refusals(families, scopes, includes_citations=includes_citations)
        return refusals_by_id | {id: Refusal(run_id=id, problem=deleted_runs.missing(id)) for id in lost_ids}
    members = {id for family in families.values() for id in family}
    if not members:
        return {}
    if len(members) <= _MAX_BATCH and not _refusal([*members], members, scopes, includes_citations=includes_citations):
        # Nothing protects any of them, as usual.
        return {}
    belongings = {id for family in families.values() for id in citations.find_belongings(family)}
    refusals = [
        _refusal(family, members | belongings, scopes, includes_citations=includes_citations)
        for family in families.values()
    ]
    return {refusal.run_id: refusal for refusal in refusals if refusal is not None}


def _refusal(
    family: Sequence[UUID], all_ids: set[UUID], scopes: Sequence[holds.Scope], *, includes_citations: bool
) -> Refusal | None:
    """Return why a run, the first of its family, cannot be deleted; citations by `all_ids` do not count."""
    run_id, runs = family[0], Run.objects.filter(id__in=family)
    if open_run := runs.filter(sealed_at__isnull=True).first():
        problem = f"run {open_run.id} is still being recorded; delete it once it has ended"
        return Refusal(run_id=run_id, problem=NotSealed(problem))
    if held_run := holds.first_held(runs, scopes):
        return Refusal(run_id=run_id, problem=RunHeld(f"run {held_run} is under legal hold"))
    work = citations.find_work(family)
    if work:
        return Refusal(run_id=run_id, problem=RunInUse([*map(str, work)]), citations=work)
    cited_by = [] if includes_citations else [item for item in citations.find(family) if item.id not in all_ids]
    if cited_by:
        return Refusal(run_id=run_id, problem=RunInUse([*map(str, cited_by)]), citations=cited_by)
    return None
