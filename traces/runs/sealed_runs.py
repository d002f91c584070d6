"""What is kept about sealed runs outside their rows: usage totals and the search index.

Every transaction that seals or deletes runs calls one of these functions, so that neither can drift from the runs.
"""

from collections.abc import Iterable
from uuid import UUID

from traces.core.vocabulary import RunSource
from traces.models import Run
from traces.search import indexer
from traces.storage import bulk
from traces.totals import usage_totals


def add(run_ids: Iterable[UUID]) -> None:
    """Count runs that were just sealed, and queue them for the search index."""
    ids = list(run_ids)
    usage_totals.add(ids)
    indexer.enqueue(_searchable(ids))


def remove(run_ids: Iterable[UUID]) -> None:
    """Forget runs; call it before their rows are deleted. Revisions that they continued take their place."""
    ids = set(run_ids)
    usage_totals.remove(ids)
    indexer.remove(ids)
    older: set[UUID] = set()
    for chunk in bulk.chunks(ids):
        runs = Run.objects.filter(superseded_by__in=chunk, sealed_at__isnull=False)
        older.update(runs.values_list("id", flat=True))
    indexer.enqueue(_searchable(older - ids))


def _searchable(run_ids: Iterable[UUID]) -> list[UUID]:
    """Return the runs without probes, which lists leave out."""
    ids: list[UUID] = []
    for chunk in bulk.chunks(run_ids):
        ids += Run.objects.filter(id__in=chunk).exclude(source=RunSource.PROBE).values_list("id", flat=True)
    return ids
