"""The purge: delete what the policies no longer keep, remove what is due, and sweep what nothing uses any more."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from traces.core.vocabulary import AuditAction
from traces.models import AuditEntry, Deletion
from traces.retention import audit, citations, families, policies, removal
from traces.retention.deletions import delete
from traces.retention.policies import DueRun, PolicyTerms
from traces.storage import bulk, sweep
from traces.storage.sweep import SweepReport

# Runs per transaction.
_BATCH: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class PurgeReport:
    """What a purge removed."""

    runs: int
    sweep_report: SweepReport


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyEffect:
    """What one policy would delete, and how many runs something else keeps."""

    terms: PolicyTerms
    runs: int
    pinned_runs: int
    held_runs: int
    cited_runs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PurgePlan:
    """What a purge would delete; `size` counts the artifacts that only these runs use."""

    runs: int
    size: int
    effects: Sequence[PolicyEffect]


def plan(all_terms: Sequence[PolicyTerms]) -> PurgePlan:
    """Return what a purge under these policies would delete, and what keeps the other runs that are due."""
    counts: dict[PolicyTerms, Counter[str]] = {}
    run_ids: list[UUID] = []
    for chunk in bulk.chunks(policies.due_runs(all_terms), _BATCH):
        cited_ids = _find_cited([run.run_id for run in chunk if not run.is_kept])
        for run in chunk:
            protection = _protection(run, cited_ids)
            counts.setdefault(run.terms, Counter())[protection] += 1
            if not protection:
                run_ids.append(run.run_id)
    family_ids = [id for run_id in run_ids for id in families.with_relatives(run_id)]
    effects = [
        PolicyEffect(
            terms=terms,
            runs=count[""],
            pinned_runs=count["pinned"],
            held_runs=count["held"],
            cited_runs=count["cited"],
        )
        for terms, count in counts.items()
    ]
    return PurgePlan(runs=len(run_ids), size=sweep.size_of_owned(family_ids), effects=effects)


def purge() -> PurgeReport:
    """Delete the runs that the policies no longer keep, and remove everything that is due."""
    audit.append(AuditAction.PURGE, "retention", by="")
    due = (run for run in policies.due_runs(policies.stored_terms()) if not run.is_kept)
    for chunk in bulk.chunks(due, _BATCH):
        reasons = {run.run_id: f"retention of {run.terms}: {run.terms.days} days" for run in chunk}
        for reason in dict.fromkeys(reasons.values()):
            delete([id for id in reasons if reasons[id] == reason], by="", reason=reason, at_once=True)
    return remove_due()


def remove_due() -> PurgeReport:
    """Remove the contents of runs whose time has come. An interrupted purge is continued by the next one."""
    return PurgeReport(runs=removal.remove_due(), sweep_report=sweep.sweep())


def is_removal_due() -> bool:
    """Return whether the time of a deleted run has come."""
    return Deletion.objects.filter(removed_at__isnull=True, due_at__lte=datetime.now(UTC)).exists()


def newest_purge() -> datetime | None:
    """Return when the policies were applied last."""
    entries = AuditEntry.objects.filter(subject="retention", action=AuditAction.PURGE).order_by("-id")
    return entries.values_list("at", flat=True).first()


def _protection(run: DueRun, cited_ids: set[UUID]) -> str:
    if run.is_held:
        return "held"
    if run.is_kept:
        return "pinned"
    return "cited" if run.run_id in cited_ids else ""


def _find_cited(run_ids: Iterable[UUID]) -> set[UUID]:
    """Return the runs that something cites, directly or through a run that would be deleted with them."""
    return {
        run_id
        for run_id in run_ids
        if citations.find(family := families.with_relatives(run_id)) or citations.find_work(family)
    }
