"""What cites a run: forks, newer revisions, and the objects of other apps, which register a `Citer`."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from traces.core.vocabulary import RunSource
from traces.models import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """An object that refers to a run and would lose its source."""

    run_id: UUID
    kind: str
    id: UUID
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Citer:
    """The objects of an app that refer to runs; the app overrides what applies to it."""

    def citations(self, run_ids: Collection[UUID]) -> Iterable[Citation]:
        """Return the objects that cite these runs."""
        return ()

    def in_progress(self, run_ids: Collection[UUID]) -> Iterable[Citation]:
        """Return the work in progress on these runs: until it ends, they cannot be deleted at all."""
        return ()

    def belongings(self, run_ids: Collection[UUID]) -> set[UUID]:
        """Return the objects that were made for these runs alone and go with them: they are no citations."""
        return set()

    def stop_reading(self, run_ids: Collection[UUID]) -> None:
        """End what would go on reading these runs after they are hidden."""

    def release(self, run_ids: Collection[UUID]) -> None:
        """Delete what belongs to these runs, and remove their contents from objects that remain."""

    def references(self, run_ids: Collection[UUID]) -> set[UUID]:
        """Return the runs that remaining objects still refer to."""
        return set()


class _RunCiter(Citer):
    """Forks and newer revisions. Probes of a search belong to the run that they fork."""

    def citations(self, run_ids: Collection[UUID]) -> Iterable[Citation]:
        runs = Run.objects.exclude(id__in=run_ids).filter(deletion__isnull=True)
        forks = runs.filter(source_run__in=run_ids).exclude(source=RunSource.PROBE)
        for source_id, id, name in forks.values_list("source_run_id", "id", "name"):
            yield Citation(run_id=source_id, kind="fork", id=id, name=name)
        for earlier_id, id, name in runs.filter(supersedes__in=run_ids).values_list("supersedes_id", "id", "name"):
            yield Citation(run_id=earlier_id, kind="revision", id=id, name=name)

    def references(self, run_ids: Collection[UUID]) -> set[UUID]:
        rows = Run.objects.filter(Q(source_run__in=run_ids) | Q(supersedes__in=run_ids))
        return {id for ids in rows.values_list("source_run_id", "supersedes_id") for id in ids if id in run_ids}


_citers: list[Citer] = [_RunCiter()]


def register(citer: Citer) -> None:
    """Add the objects of an app; called once, when the app starts."""
    _citers.append(citer)


def find(run_ids: Collection[UUID]) -> list[Citation]:
    """Return what cites these runs, except these runs themselves and what belongs to them."""
    citations = [citation for citer in _citers for citation in citer.citations(run_ids)]
    belongings = find_belongings(run_ids) if citations else set()
    return [citation for citation in citations if citation.id not in belongings]


def find_belongings(run_ids: Collection[UUID]) -> set[UUID]:
    """Return the objects that are deleted together with these runs."""
    return {id for citer in _citers for id in citer.belongings(run_ids)}


def find_work(run_ids: Collection[UUID]) -> list[Citation]:
    """Return the work in progress on these runs."""
    return [citation for citer in _citers for citation in citer.in_progress(run_ids)]


def stop_reading(run_ids: Collection[UUID]) -> None:
    """End what would go on reading these runs after they are hidden."""
    for citer in _citers:
        citer.stop_reading(run_ids)


def release(run_ids: Collection[UUID]) -> None:
    """Delete what belongs to these runs, in the order in which the apps depend on each other."""
    for citer in reversed(_citers):
        citer.release(run_ids)


def find_referenced(run_ids: Collection[UUID]) -> set[UUID]:
    """Return those of these runs that something still refers to."""
    return {run_id for citer in _citers for run_id in citer.references(run_ids)}
