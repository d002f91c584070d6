"""What is kept about sealed runs outside their rows: usage totals and the search index.

Both cover the runs that are sealed, not deleted, and not continued by a sealed revision. Every transaction that changes
which runs these are calls one of these functions, so that neither can drift from the runs.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from traces.captions import services as captions
from traces.comments import inheritance as comments
from traces.core.vocabulary import RunSource
from traces.models import Deletion, Run
from traces.search import indexer
from traces.storage import bulk
from traces.totals import usage_totals


def add(run_ids: Iterable[UUID]) -> None:
    """Count runs that were just sealed and queue them for the search index, in place of those that they continue.

    They inherit the captions of these, and the comments on unchanged steps. Their outcomes are stored already.
    """
    ids = list(run_ids)
    continuations = Run.objects.filter(bulk.id_condition("id", ids), supersedes__isnull=False)
    continued_ids = list(continuations.values_list("supersedes", flat=True))
    # Most batches continue no run.
    older_ids = set(_lock(continued_ids)) if continued_ids else set()
    if older_ids:
        usage_totals.add(older_ids - _deleted_ids(older_ids), sign=-1)
        indexer.remove(older_ids)
        captions.inherit(ids)
        comments.inherit(ids)
    usage_totals.add(ids)
    indexer.enqueue(_searchable(id for id in ids if id not in older_ids))


def hide(run_ids: Iterable[UUID]) -> None:
    """Forget runs; call it before they are marked as deleted, or deleted."""
    ids = _lock(run_ids)
    usage_totals.add(_listed_ids(ids), sign=-1)
    indexer.remove(ids)


def show(run_ids: Iterable[UUID]) -> None:
    """Count and index runs again that are no longer deleted, or whose newer revision was deleted."""
    ids = _listed_ids(_lock(run_ids))
    usage_totals.add(ids)
    indexer.enqueue(_searchable(ids))


def _lock(run_ids: Iterable[UUID | None]) -> list[UUID]:
    """Lock sealed runs until the end of the transaction: a deletion and a new revision must not both subtract a run."""
    runs = Run.objects.select_for_update(of=("self",), no_key=True).filter(sealed_at__isnull=False).order_by("id")
    return list(runs.filter(bulk.id_condition("id", run_ids)).values_list("id", flat=True))


def _listed_ids(run_ids: Sequence[UUID]) -> list[UUID]:
    """Return the runs that are not deleted and that no sealed revision continues."""
    successors = Run.objects.filter(bulk.id_condition("supersedes", run_ids), sealed_at__isnull=False)
    other_ids = {*successors.values_list("supersedes", flat=True), *_deleted_ids(run_ids)}
    return [id for id in run_ids if id not in other_ids]


def _deleted_ids(run_ids: Iterable[UUID]) -> set[UUID]:
    return set(Deletion.objects.filter(bulk.id_condition("run", run_ids)).values_list("run_id", flat=True))


def _searchable(run_ids: Iterable[UUID]) -> list[UUID]:
    """Return the runs without probes, which lists leave out."""
    ids = list(run_ids)
    probes = Run.objects.filter(bulk.id_condition("id", ids), source=RunSource.PROBE)
    # Of an import, there are none.
    probe_ids = set(probes.values_list("id", flat=True))
    return [id for id in ids if id not in probe_ids]
