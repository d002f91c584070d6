"""Families: a run with its forks, and theirs, which a list shows below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.lookups import IsNull

from traces.core.vocabulary import RunSource
from traces.models import RunListing
from traces.run_lists.conditions import condition_of
from traces.run_lists.run_filter import VISIBLE, RunFilter

# Forks of a family that a page contains. Those of a larger family are a list of their own.
MAX_SHOWN: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """The forks of a run of a list."""

    root: UUID
    fork_count: int
    # Forks that match the filter, and whether the run itself does.
    match_count: int
    is_match: bool
    # The matching forks, newest first, if they are few.
    forks: Sequence[UUID]


def first_runs(run_filter: RunFilter) -> QuerySet[RunListing]:
    """Return the runs to list with their forks below them: those that match, or have a fork that does.

    A fork whose first run was deleted, or has a later revision, is in the list itself.
    """
    # A value, because PostgreSQL would read all runs for a set of them.
    root = Subquery(RunListing.objects.filter(VISIBLE, run=OuterRef("root")).values("run"))
    is_first = Q(root__isnull=True) | Q(IsNull(root, True))
    condition = condition_of(run_filter)
    visible_runs = RunListing.objects.filter(VISIBLE)
    if run_filter.is_narrow:
        forks = visible_runs.filter(condition, root__isnull=False)
        condition |= Q(run__in=forks.values("root"))
    return visible_runs.filter(condition).filter(is_first)


def families_of(runs: Sequence[UUID], run_filter: RunFilter) -> list[Family]:
    """Return the families of these runs that have forks, and those of which only forks match."""
    visible_runs = RunListing.objects.filter(VISIBLE)
    matches = visible_runs.filter(condition_of(run_filter))
    fork_counts = _counts(visible_runs.filter(~Q(source=RunSource.PROBE), root__in=runs))
    match_counts, matching_runs = fork_counts, set(runs)
    if run_filter.is_narrow:
        match_counts = _counts(matches.filter(root__in=runs))
        matching_runs = set(matches.filter(run__in=runs).values_list("run", flat=True))
    small_families = [root for root, count in match_counts.items() if count <= MAX_SHOWN]
    rows = matches.filter(root__in=small_families).order_by("-run").values_list("root", "run")
    shown_forks: dict[UUID, list[UUID]] = {}
    for root, fork in rows if small_families else ():
        if root is not None:
            shown_forks.setdefault(root, []).append(fork)
    return [
        Family(
            root=run,
            fork_count=max(fork_counts.get(run, 0), match_counts.get(run, 0)),
            match_count=match_counts.get(run, 0),
            is_match=run in matching_runs,
            forks=shown_forks.get(run, ()),
        )
        for run in runs
        if run in fork_counts or run in match_counts
    ]


def _counts(forks: QuerySet[RunListing]) -> dict[UUID, int]:
    return dict(forks.order_by().values_list("root").annotate(count=Count("*")))
