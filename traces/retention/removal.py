"""Remove the contents of deleted runs, in transactions that a crash may separate.

A hidden run loses its steps batch by batch, then the rest and its own row. If a fork or a report still refers to it, an
empty row remains in its place: every link stays valid, and nothing of the recording is left.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from traces import notify
from traces.audit import audit_log
from traces.comments.services import remove_comments
from traces.core.vocabulary import AuditAction, Outcome, StepType
from traces.models import (
    ArtifactUse,
    Deletion,
    Edge,
    Judgement,
    PendingProvenance,
    RecordAddress,
    Recording,
    Run,
    RunCaption,
    RunMark,
    RunOutcome,
    RunTag,
    Segment,
    ShareLink,
    Step,
    ToolCall,
)
from traces.models.digests import digest_key
from traces.origins import stored_provenance
from traces.retention import citations, holds
from traces.retention.families import descendants
from traces.runs import sealed_runs
from traces.search import indexer
from traces.storage import bulk, verification
from traces.storage.retention_pass import retention_pass

DELETED_NAME: Final = "Deleted run"
_BATCH: Final = 1_000
_REFS: Final = ("input_ref", "output_ref", "attributes_ref")
_EMPTY: Final = {"name": DELETED_NAME, "search": "", "content_digest": "", "environment": ""}
_SAME_COLUMNS: Final = ("id", "app", "source", "format", "status", "created_at", "sealed_at")
# The remaining columns have no default in the database.
_ZERO: Final = (
    "step_count",
    "error_count",
    "tokens_in",
    "tokens_out",
    "exact_count",
    "cached_count",
    "simulated_count",
)


def remove_due(now: datetime | None = None) -> int:
    """Remove the contents of all runs whose time has come; return how many. Citing runs go before the cited ones."""
    due = Deletion.objects.filter(removed_at__isnull=True, due_at__lte=now or datetime.now(UTC)).select_related("run")
    return sum(_remove(deletion) for deletion in list(due.order_by("-run_id")))


def _remove(deletion: Deletion) -> bool:
    run_id = deletion.run_id
    if not _has_begun(deletion) and (reason := _obstacle(deletion)):
        with transaction.atomic():
            deletion.delete()
            sealed_runs.show([run_id])
            audit_log.append(AuditAction.DELETION_REFUSED, run_id, by="", problem=reason)
        return False
    forks = [id for id in descendants([run_id]) if not Deletion.objects.filter(run_id=id).exists()]
    while _remove_steps(run_id, forks):
        pass
    while _remove_edges(run_id):
        pass
    _finish(deletion, forks)
    return True


def _has_begun(deletion: Deletion) -> bool:
    """Return whether an interrupted removal took some of the steps: then nothing can bring the run back."""
    return Step.objects.filter(run_id=deletion.run_id).count() < deletion.run.step_count


def _is_pending(run_id: UUID) -> bool:
    """Lock the deletion of a run; return False if the run was restored or removed meanwhile."""
    return Deletion.objects.select_for_update().filter(run_id=run_id, removed_at__isnull=True).exists()


def _obstacle(deletion: Deletion) -> str:
    """Return what has come to protect a run since its deletion was requested, if anything."""
    family = [deletion.run_id]
    if holds.first_held(Run.objects.filter(id__in=family)):
        return "it is under legal hold"
    if work := citations.find_work(family):
        return f"it is used by {work[0]}"
    # A newer revision that arrived meanwhile has its own contents.
    cited_by = [item for item in citations.find(family) if item.kind != "revision"]
    if cited_by and not deletion.includes_citations:
        return f"it is cited by {cited_by[0]}"
    return ""


def _remove_steps(run_id: UUID, forks: Sequence[UUID]) -> bool:
    """Remove a batch of steps, and what forks repeat of them; return whether there were any."""
    with retention_pass():
        if not _is_pending(run_id):
            return False
        rows = list(Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list("id", *_REFS)[:_BATCH])
        if forks:
            _clear_forks(forks, {ref for _, *refs in rows for ref in refs if ref})
        Step.objects.filter(id__in=[id for id, *_ in rows]).delete()
    return bool(rows)


def _remove_edges(run_id: UUID) -> bool:
    with retention_pass():
        if not _is_pending(run_id):
            return False
        ids = list(Edge.objects.filter(run_id=run_id).values_list("id", flat=True)[:_BATCH])
        Edge.objects.filter(id__in=ids).delete()
    return bool(ids)


def _clear_forks(forks: Sequence[UUID], refs: set[str]) -> None:
    """Give up the forks' claims to artifacts of a deleted run, and blank the texts of the steps that repeat it."""
    for digests in bulk.chunks(sorted(verification.closure(set(map(digest_key, refs)))), bulk.CHUNK // 2):
        for fork_ids in bulk.chunks(forks, bulk.CHUNK // 2):
            ArtifactUse.objects.filter(sha256__in=digests, run_id__in=fork_ids).delete()
    stored_provenance.withdraw(forks)
    for fork_id in forks:
        for chunk in bulk.chunks(sorted(refs), bulk.CHUNK // 2):
            copies = Step.objects.filter(Q(input_ref__in=chunk) | Q(output_ref__in=chunk), run_id=fork_id)
            numbers = list(copies.values_list("sequence_no", flat=True))
            Edge.objects.filter(run_id=fork_id, consumer_no__in=numbers).delete()
            copies.update(summary="", error="", unexplained=None, detail={"note": "the source run was deleted"})
            # A turn is named after what the user said.
            copies.filter(type=StepType.TURN).update(name="turn")
        ToolCall.objects.filter(run_id=fork_id).delete()


def _finish(deletion: Deletion, forks: Sequence[UUID]) -> None:
    """Delete everything else of a run, and its row; leave an empty row if something refers to it."""
    run_id = deletion.run_id
    with retention_pass():
        run = Run.objects.select_for_update().filter(id=run_id).first()
        if run is None or not _is_pending(run_id):
            return
        citations.release([run_id])
        _delete_recordings(run)
        for model in (PendingProvenance, RunTag, ToolCall, Judgement, RunCaption, RunOutcome, RunMark):
            model.objects.filter(run_id=run_id).delete()
        ShareLink.objects.filter(subject=run_id).delete()
        remove_comments([run_id])
        # It may quote the deleted run.
        RunCaption.objects.filter(run__in=forks).update(change=None)
        Run.objects.filter(id__in=forks).update(search="", name=f"Fork of a {DELETED_NAME.lower()}")
        is_cited = bool(citations.find_referenced([run_id]))
        columns = _deletion_columns(deletion)
        Deletion.objects.filter(run_id=run_id).delete()
        # Not the model's delete: an object may refer to the row that takes its place.
        Run.objects.filter(id=run_id)._raw_delete("default")
        sealed_runs.show(filter(None, [run.supersedes_id]))
        # Their words repeat those of this run; the purge indexes them again after the sweep.
        indexer.remove(forks)
        if is_cited:
            _insert_empty_run(run)
            Deletion.objects.create(run_id=run_id, removed_at=datetime.now(UTC), **columns)
        audit_log.append(AuditAction.RUN_REMOVED, run_id, by="", steps=run.step_count, is_cited=is_cited)
        notify.touch("runs")


def _deletion_columns(deletion: Deletion) -> dict[str, object]:
    return {name: getattr(deletion, name) for name in ("by", "reason", "includes_citations", "at", "due_at")}


def _delete_recordings(run: Run) -> None:
    """Delete the segments that a run was assembled from, and the addresses of its records."""
    recordings = Recording.objects.filter(run=run)
    projects = list(recordings.values_list("project", flat=True))
    if projects:
        RecordAddress.objects.filter(project__in=projects, external_id=run.external_id).delete()
        Segment.objects.filter(recording__in=recordings).delete()
        recordings.delete()


def _insert_empty_run(run: Run) -> None:
    columns = {name: getattr(run, name) for name in _SAME_COLUMNS} | _EMPTY | dict.fromkeys(_ZERO, 0)
    columns |= {"external_id": str(run.id), "revision": 1, "tags": [], "metadata": {}}
    bulk.insert(Run, tuple(columns), [tuple(columns.values())])
    RunOutcome.objects.create(run_id=run.id, outcome=Outcome.UNKNOWN)
