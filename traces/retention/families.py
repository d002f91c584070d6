"""Families of runs: the runs that are deleted together with one."""

from collections.abc import Collection, Iterable
from typing import Final
from uuid import UUID

from traces.core.vocabulary import RunSource
from traces.models import Run
from traces.storage import bulk

# Runs to follow; revisions and forks have no cycles, so this only bounds the work.
_LIMIT: Final = 100_000


def with_relatives(run_id: UUID) -> list[UUID]:
    """Return a run, the revisions that it continues, and the probes that forked any of them; forks after sources."""
    family = [run_id]
    earlier = Run.objects.values_list("supersedes_id", flat=True).get(id=run_id)
    while earlier is not None:
        family.append(earlier)
        earlier = Run.objects.values_list("supersedes_id", flat=True).get(id=earlier)
    return family + descendants(family, only_probes=True)


def descendants(run_ids: Collection[UUID], *, only_probes: bool = False) -> list[UUID]:
    """Return the forks of runs, and the forks of these; `only_probes`: only those that searches made."""
    result: dict[UUID, None] = {}
    level: Iterable[UUID] = run_ids
    while level and len(result) < _LIMIT:
        forks = [id for chunk in bulk.chunks(level) for id in _forks(chunk, only_probes=only_probes)]
        level = [id for id in forks if id not in result]
        result |= dict.fromkeys(level)
    return list(result)


def _forks(run_ids: Collection[UUID], *, only_probes: bool) -> Iterable[UUID]:
    forks = Run.objects.filter(source_run__in=run_ids)
    return (forks.filter(source=RunSource.PROBE) if only_probes else forks).values_list("id", flat=True)
