"""The list of runs: sort orders, pages and facets."""

from collections import Counter
from heapq import nlargest
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from traces.captions.queries import captions_of
from traces.core.vocabulary import Outcome, RunSource
from traces.models import Judgement, Run, RunListing, RunTag
from traces.run_lists import payload_search
from traces.run_lists.run_filter import VISIBLE, Cursor, RunFilter, Sort, cursor_text
from traces.runs.presenters import run_summary
from traces.schemas import Facet, RunFacets, RunList

_MAX_TAGS: Final = 100
_MAX_TOTAL: Final = 1_000
# Of so many runs with a tag or a judgement, each is looked up; if there are more, some of the newest runs have one.
_MAX_LOOKUPS: Final = 5_000


def page(run_filter: RunFilter) -> RunList:
    """Return a page of runs. The first page has the total up to a limit, but not for a search."""
    matches = matching_runs(run_filter)
    if run_filter.words and run_filter.sort is Sort.NEWEST:
        return payload_search.page(run_filter, matches)
    # First the ids, from the index alone: reading whole rows to leave most of them out takes ten times as long.
    limit, is_first = run_filter.limit, run_filter.after is None
    if run_filter.words:
        ids = _found_ids(run_filter, matches)
    else:
        # The first page counts in the same pass: with a rare filter, each pass reads the whole index.
        ids = _newest_ids(run_filter, matches, _MAX_TOTAL + 1 if is_first else limit + 1)
    by_id = Run.objects.select_related("verdict", "mark").in_bulk(ids[:limit])
    runs = [by_id[id] for id in ids[:limit] if id in by_id]
    more = len(ids) > limit
    captions = captions_of(runs)
    is_counted = is_first and not (run_filter.words and more)
    return RunList(
        runs=[run_summary(run, captions) for run in runs],
        # A run may have been deleted between the two queries.
        next=cursor_text(runs[-1], run_filter.sort) if more and runs else None,
        total=min(len(ids), _MAX_TOTAL) if is_counted else None,
        more_than_total=is_counted and len(ids) > _MAX_TOTAL,
    )


def facets() -> RunFacets:
    """Count the visible runs of each filter value, in one pass over a covering index."""
    columns = ("app", "environment", "status", "outcome", "source")
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for *values, count in RunListing.objects.filter(VISIBLE).values_list(*columns).annotate(count=Count("*")):
        *_, source = values
        for name, value in zip(columns, values, strict=True):
            # The list excludes probes by default.
            if name == "source" or source != RunSource.PROBE:
                counts[name][value] += count
    hidden_runs = RunListing.objects.exclude(VISIBLE)
    tag_counts = RunTag.objects.exclude(run__in=hidden_runs.values("run")).values_list("tag").annotate(count=Count("*"))
    return RunFacets(
        apps=_facet(counts["app"]),
        environments=_facet(counts["environment"]),
        statuses=_facet(counts["status"]),
        outcomes=_facet(counts["outcome"]),
        sources=_facet(counts["source"]),
        tags=[Facet(value=tag, count=count) for tag, count in tag_counts.order_by("-count", "tag")[:_MAX_TAGS]],
    )


def matching_runs(run_filter: RunFilter) -> QuerySet[RunListing]:
    """Return the runs that meet all conditions of a filter, except its words."""
    runs = RunListing.objects.filter(run_filter.condition)
    if len(run_filter.outcomes) < len(Outcome):
        runs = runs.filter(outcome__in=run_filter.outcomes)
    if run_filter.tags:
        runs = runs.filter(_has(RunTag.objects.filter(tag__in=run_filter.tags)))
    if run_filter.judgement:
        runs = runs.filter(_has(Judgement.objects.filter(run_filter.judgement, withdrawn_at__isnull=True)))
    return runs


def _has(rows: QuerySet[Any]) -> Q:
    """Return the condition that a run has one of these rows, in the form that suits their number."""
    if rows.values("run")[: _MAX_LOOKUPS + 1].count() > _MAX_LOOKUPS:
        return Q(Exists(rows.filter(run=OuterRef("run"))))
    return Q(run__in=rows.values("run"))


def _newest_ids(run_filter: RunFilter, matches: QuerySet[RunListing], size: int) -> list[UUID]:
    """Return at most `size` ids in the order of the list.

    An index has the newest runs of each outcome in order, so a list by outcome is made of one list for each.
    """
    after = run_filter.after
    newest = matches.order_by("-run").values_list("run", flat=True)
    if run_filter.sort is Sort.NEWEST:
        if isinstance(after, Cursor):
            newest = newest.filter(run__lt=after.run_id)
        if len(run_filter.outcomes) == len(Outcome):
            return list(newest[:size])
        return nlargest(size, (id for outcome in run_filter.outcomes for id in newest.filter(outcome=outcome)[:size]))
    ids: list[UUID] = []
    for outcome in _outcomes(run_filter):
        runs = newest.filter(outcome=outcome)
        if isinstance(after, Cursor) and outcome == after.outcome:
            runs = runs.filter(run__lt=after.run_id)
        ids += runs[: size - len(ids)]
        if len(ids) == size:
            break
    return ids


def _found_ids(run_filter: RunFilter, matches: QuerySet[RunListing]) -> list[UUID]:
    """Return the ids of a page of a search by outcome, and one more if there are more."""
    after, outcomes = run_filter.after, _outcomes(run_filter)
    found_runs = matches.filter(run__in=payload_search.newest_runs(run_filter.words), outcome__in=outcomes)
    rows = sorted(found_runs.values_list("outcome", "run"), key=lambda row: row[1], reverse=True)
    rows.sort(key=lambda row: outcomes.index(row[0]))
    if isinstance(after, Cursor):
        rows = [row for row in rows if row[0] != after.outcome or row[1] < after.run_id]
    return [id for _, id in rows[: run_filter.limit + 1]]


def _outcomes(run_filter: RunFilter) -> list[str]:
    """Return the outcomes of a page, in order: from the cursor's on."""
    is_descending, after = run_filter.sort is Sort.OUTCOME_LAST, run_filter.after
    outcomes = sorted(set(run_filter.outcomes), reverse=is_descending)
    if not isinstance(after, Cursor):
        return outcomes
    return [
        outcome for outcome in outcomes if (outcome <= after.outcome if is_descending else outcome >= after.outcome)
    ]


def _facet(counts: Counter[str]) -> list[Facet]:
    values = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Facet(value=value, count=count) for value, count in values if value and count]
