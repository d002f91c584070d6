"""The list of runs: sort orders, pages and facets."""

from collections import Counter
from typing import Final

from django.db import connection
from django.db.models import Count, Q, QuerySet

from traces.core.vocabulary import RunSource
from traces.models import Judgement, Run, RunOutcome, RunTag
from traces.run_lists import payload_search
from traces.run_lists.run_filter import DELETED_RUNS, OLDER_REVISIONS, Cursor, RunFilter, Sort, cursor_text
from traces.runs.presenters import run_summary
from traces.schemas import Facet, RunFacets, RunList

_MAX_TAGS: Final = 100
_MAX_TOTAL: Final = 1_000
_ORDERS: Final = {
    Sort.NEWEST: ("-id",),
    Sort.OUTCOME: ("verdict__outcome", "-verdict__run_id"),
    Sort.OUTCOME_LAST: ("-verdict__outcome", "-verdict__run_id"),
}


def page(run_filter: RunFilter) -> RunList:
    """Return a page of runs. The total is counted up to a limit, and not at all for a search."""
    matches = matching_runs(run_filter)
    if run_filter.words and run_filter.sort is Sort.NEWEST:
        return payload_search.page(run_filter, matches)
    if run_filter.words:
        matches = matches.filter(id__in=payload_search.newest_runs(run_filter.words))
    after = run_filter.after
    rest = matches.filter(after.rest(run_filter.sort)) if isinstance(after, Cursor) else matches
    # First the ids, which indexes provide: reading whole rows to leave most of them out takes ten times as long.
    ids = list(rest.order_by(*_ORDERS[run_filter.sort]).values_list("id", flat=True)[: run_filter.limit + 1])
    more = len(ids) > run_filter.limit
    by_id = Run.objects.select_related("verdict", "mark").in_bulk(ids[: run_filter.limit])
    runs = [by_id[id] for id in ids[: run_filter.limit] if id in by_id]
    total = _total(run_filter, matches, len(ids), more=more)
    return RunList(
        runs=[run_summary(run) for run in runs],
        # A run may have been deleted between the two queries.
        next=cursor_text(runs[-1], run_filter.sort) if more and runs else None,
        total=total if total is None else min(total, _MAX_TOTAL),
        more_than_total=total is not None and total > _MAX_TOTAL,
    )


def facets() -> RunFacets:
    """Count the runs of each filter value, in one pass over a covering index."""
    columns = ("app", "environment", "status", "source")
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
    _count_facets(counts, Run.objects.all(), 1)
    _count_facets(counts, Run.objects.filter(Q(id__in=OLDER_REVISIONS) | Q(id__in=DELETED_RUNS)), -1)
    tags = RunTag.objects.values_list("tag").annotate(count=Count("*")).order_by("-count", "tag")[:_MAX_TAGS]
    newest_outcomes = RunOutcome.objects.filter(is_probe=False).exclude(run__in=OLDER_REVISIONS)
    newest_outcomes = newest_outcomes.exclude(run__in=DELETED_RUNS)
    outcomes = newest_outcomes.values_list("outcome").annotate(count=Count("*"))
    return RunFacets(
        apps=_facet(counts["app"]),
        environments=_facet(counts["environment"]),
        statuses=_facet(counts["status"]),
        outcomes=_facet(Counter(dict(outcomes))),
        sources=_facet(counts["source"]),
        tags=[Facet(value=tag, count=count) for tag, count in tags],
    )


def _count_facets(counts: dict[str, Counter[str]], runs: QuerySet[Run], sign: int) -> None:
    """Add the values of runs to the counts, or subtract them."""
    for *values, count in runs.values_list(*counts).annotate(count=Count("*")):
        *_, source = values
        for name, value in zip(counts, values, strict=True):
            # The list excludes probes by default.
            if name == "source" or source != RunSource.PROBE:
                counts[name][value] += sign * count


def matching_runs(run_filter: RunFilter) -> QuerySet[Run]:
    """Return the runs that meet all conditions of a filter, except its words."""
    runs = Run.objects.filter(run_filter.condition)
    if run_filter.tags:
        runs = runs.filter(id__in=RunTag.objects.filter(tag__in=run_filter.tags).values("run_id"))
    if run_filter.judgement:
        judgements = Judgement.objects.filter(run_filter.judgement, withdrawn_at__isnull=True)
        runs = runs.filter(id__in=judgements.values("run_id"))
    return runs


def _total(run_filter: RunFilter, matches: QuerySet[Run], length: int, *, more: bool) -> int | None:
    if run_filter.after is None and not more:
        return length
    if run_filter.words:
        return None
    # Without statistics of values, SQLite starts at the oldest run, and filters by time match the newest.
    order = _ORDERS[run_filter.sort] if connection.vendor == "sqlite" else ()
    return matches.order_by(*order).values("id")[: _MAX_TOTAL + 1].count()


def _facet(counts: Counter[str]) -> list[Facet]:
    return [Facet(value=value, count=count) for value, count in counts.most_common() if value and count]
