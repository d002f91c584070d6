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
    return find_families([run_id])[run_id]


def find_families(run_ids: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """Return the family of each run, with few queries for many runs: most runs are alone."""
    families = {run_id: [run_id] for run_id in run_ids}
    oldest = dict(zip(run_ids, run_ids, strict=True))
    while oldest:
        earlier = _earlier_revisions(set(oldest.values()))
        oldest = {run_id: earlier[revision] for run_id, revision in oldest.items() if revision in earlier}
        for run_id, revision in oldest.items():
            families[run_id].append(revision)
    if descendants({id for family in families.values() for id in family}, only_probes=True):
        return {run_id: family + descendants(family, only_probes=True) for run_id, family in families.items()}
    return families


def _earlier_revisions(run_ids: Collection[UUID]) -> dict[UUID, UUID]:
    return {
        run_id: earlier
        for chunk in bulk.chunks(run_ids)
        for run_id, earlier in Run.objects.filter(id__in=chunk).values_list("id", "supersedes_id")
        if earlier is not None
    }


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
