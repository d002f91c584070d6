"""What is kept about sealed runs outside their rows: usage totals and the search index.

Both cover the runs that are sealed, not deleted, and not continued by a sealed revision. Every transaction that changes
which runs these are calls one of these functions, so that neither can drift from the runs.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Q

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
    older_ids = set(_lock(Q(superseded_by__in=chunk) for chunk in bulk.chunks(ids)))
    usage_totals.add(older_ids - _deleted_ids(older_ids), sign=-1)
    usage_totals.add(ids)
    indexer.remove(older_ids)
    if older_ids:
        captions.inherit(ids)
        comments.inherit(ids)
    indexer.enqueue(_searchable(id for id in ids if id not in older_ids))


def hide(run_ids: Iterable[UUID]) -> None:
    """Forget runs; call it before they are marked as deleted, or deleted."""
    ids = _lock(Q(id__in=chunk) for chunk in bulk.chunks(run_ids))
    usage_totals.add(_listed_ids(ids), sign=-1)
    indexer.remove(ids)


def show(run_ids: Iterable[UUID]) -> None:
    """Count and index runs again that are no longer deleted, or whose newer revision was deleted."""
    ids = _listed_ids(_lock(Q(id__in=chunk) for chunk in bulk.chunks(run_ids)))
    usage_totals.add(ids)
    indexer.enqueue(_searchable(ids))


def _lock(conditions: Iterable[Q]) -> list[UUID]:
    """Lock sealed runs until the end of the transaction: a deletion and a new revision must not both subtract a run."""
    runs = Run.objects.select_for_update(of=("self",), no_key=True).filter(sealed_at__isnull=False).order_by("id")
    return [id for condition in conditions for id in runs.filter(condition).values_list("id", flat=True)]


def _listed_ids(run_ids: Sequence[UUID]) -> list[UUID]:
    """Return the runs that are not deleted and that no sealed revision continues."""
    continued_ids: set[UUID | None] = set()
    for chunk in bulk.chunks(run_ids):
        successors = Run.objects.filter(supersedes__in=chunk, sealed_at__isnull=False)
        continued_ids.update(successors.values_list("supersedes", flat=True))
    other_ids = continued_ids | _deleted_ids(run_ids)
    return [id for id in run_ids if id not in other_ids]


def _deleted_ids(run_ids: Iterable[UUID]) -> set[UUID]:
    ids: set[UUID] = set()
    for chunk in bulk.chunks(run_ids):
        ids.update(Deletion.objects.filter(run__in=chunk).values_list("run_id", flat=True))
    return ids


def _searchable(run_ids: Iterable[UUID]) -> list[UUID]:
    """Return the runs without probes, which lists leave out."""
    ids: list[UUID] = []
    for chunk in bulk.chunks(run_ids):
        ids += Run.objects.filter(id__in=chunk).exclude(source=RunSource.PROBE).values_list("id", flat=True)
    return ids
