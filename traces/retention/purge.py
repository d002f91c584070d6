"""The purge: delete what the policies no longer keep, remove what is due, and sweep what nothing uses any more."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from traces.audit import audit_log
from traces.comments.services import is_purge_due, purge_comments
from traces.core.vocabulary import AuditAction, Protection
from traces.models import AuditEntry, Deletion, RetentionPolicy
from traces.retention import families, policies, removal
from traces.retention.citations import Citation
from traces.retention.deletions import RunHeld, delete, find_refusals
from traces.retention.holds import Scope
from traces.retention.policies import DueRun, PolicyTerms
from traces.search import indexer
from traces.storage import bulk, sweep
from traces.storage.sweep import SweepReport

# Of the entries of purges in the audit log.
_SUBJECT: Final = "retention"
_INTERVAL: Final = timedelta(days=1)
# Runs per transaction.
_BATCH: Final = 50
# Runs that a plan lists, of those to delete and of those to keep.
MAX_LISTED: Final = 100


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
class PlannedRun:
    """A run that is due, and what keeps it from a purge."""

    run: DueRun
    protection: Protection = Protection.NONE
    citations: Sequence[Citation] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PurgePlan:
    """What a purge would delete; `size` counts the artifacts that only these runs use.

    Of the runs that it deletes and of those that something keeps, only the oldest are listed.
    """

    runs: int
    size: int
    effects: Sequence[PolicyEffect]
    deletable_runs: Sequence[PlannedRun]
    protected_runs: Sequence[PlannedRun]


def plan(all_terms: Sequence[PolicyTerms]) -> PurgePlan:
    """Return what a purge under these policies would delete, and what keeps the other runs that are due."""
    counts: dict[PolicyTerms, Counter[Protection]] = {}
    run_ids: list[UUID] = []
    deletable_examples: list[PlannedRun] = []
    protected_examples: list[PlannedRun] = []
    for item in _planned_runs(all_terms):
        counts.setdefault(item.run.terms, Counter())[item.protection] += 1
        if not item.protection:
            run_ids.append(item.run.run_id)
        examples = protected_examples if item.protection else deletable_examples
        if len(examples) < MAX_LISTED:
            examples.append(item)
    family_ids = [id for family in families.find_families(run_ids).values() for id in family]
    effects = [
        PolicyEffect(
            terms=terms,
            runs=count[Protection.NONE],
            pinned_runs=count[Protection.PIN],
            held_runs=count[Protection.HOLD],
            cited_runs=count[Protection.CITATION],
        )
        for terms, count in counts.items()
    ]
    return PurgePlan(
        runs=len(run_ids),
        size=sweep.size_of_owned(family_ids),
        effects=effects,
        deletable_runs=deletable_examples,
        protected_runs=protected_examples,
    )


def purge(*, by: str = "") -> PurgeReport:
    """Delete the runs that the policies no longer keep, and remove everything that is due; `by`: who asked for it."""
    audit_log.append(AuditAction.PURGE, _SUBJECT, by=by)
    return _apply_policies(by=by)


def purge_daily() -> bool:
    """Purge if there are policies that were last applied a day ago; return whether they were to be applied.

    Only one of several processes does it.
    """
    with transaction.atomic():
        # Locked until the entry is in the log: others see it.
        if not list(RetentionPolicy.objects.select_for_update().order_by("id").values_list("id")):
            return False
        newest = newest_purge()
        if newest and newest > datetime.now(UTC) - _INTERVAL:
            return False
        audit_log.append(AuditAction.PURGE, _SUBJECT, by="")
    _apply_policies(by="")
    return True


def _apply_policies(*, by: str) -> PurgeReport:
    due = (run for run in policies.due_runs(policies.stored_terms()) if not run.is_kept)
    for chunk in bulk.chunks(due, _BATCH):
        reasons = {run.run_id: f"retention of {run.terms}: {run.terms.days} days" for run in chunk}
        delete([*reasons], by=by, reasons=reasons, at_once=True)
    return remove_due()


def remove_due() -> PurgeReport:
    """Remove the contents of deleted runs and comments that are due. The next purge continues an interrupted one."""
    purge_comments()
    report = PurgeReport(runs=removal.remove_due(), sweep_report=sweep.sweep())
    indexer.enqueue_forks()
    return report


def is_removal_due() -> bool:
    """Return whether the time of a deleted run or comment has come."""
    return is_purge_due() or Deletion.objects.filter(removed_at__isnull=True, due_at__lte=datetime.now(UTC)).exists()


def newest_purge() -> datetime | None:
    """Return when the policies were applied last."""
    entries = AuditEntry.objects.filter(subject=_SUBJECT, action=AuditAction.PURGE).order_by("-id")
    return entries.values_list("at", flat=True).first()


def _planned_runs(all_terms: Sequence[PolicyTerms]) -> Iterator[PlannedRun]:
    """Yield the runs that are due, in the same batches as `purge` deletes them: then it refuses the same runs."""
    scopes = [(terms.app, terms.tag) for terms in all_terms if terms.legal_hold]
    batch: list[DueRun] = []
    for run in policies.due_runs(all_terms):
        if run.is_kept:
            yield PlannedRun(run=run, protection=Protection.HOLD if run.is_held else Protection.PIN)
            continue
        batch.append(run)
        if len(batch) == _BATCH:
            yield from _check_batch(batch, scopes)
            batch = []
    yield from _check_batch(batch, scopes)


def _check_batch(batch: Sequence[DueRun], scopes: Sequence[Scope]) -> Iterator[PlannedRun]:
    refusals = find_refusals([run.run_id for run in batch], scopes)
    for run in batch:
        refusal = refusals.get(run.run_id)
        if refusal is None:
            yield PlannedRun(run=run)
        else:
            protection = Protection.HOLD if isinstance(refusal.problem, RunHeld) else Protection.CITATION
            yield PlannedRun(run=run, protection=protection, citations=refusal.citations)
