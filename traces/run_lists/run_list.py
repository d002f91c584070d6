"""The list of runs: sort orders, pages and facets."""

from collections import Counter
from heapq import nlargest
from itertools import chain
from typing import Final

from django.db.models import Count, QuerySet

from traces.captions.queries import captions_of
from traces.core.vocabulary import Outcome, RunSource
from traces.models import Run, RunListing, RunTag
from traces.run_lists import payload_search
from traces.run_lists.conditions import condition_of
from traces.run_lists.families import families_of, first_runs
from traces.run_lists.run_filter import VISIBLE, ForkPlace, RunFilter
from traces.run_lists.sort_orders import Position, Sort, cursor_text, in_order, sort_positions
from traces.runs.presenters import run_summary, with_summary_columns
from traces.schemas import Facet, RunFacets, RunFamily, RunList

_MAX_TAGS: Final = 100
_MAX_TOTAL: Final = 1_000


def page(run_filter: RunFilter) -> RunList:
    """Return a page of runs. The first page has the total up to a limit, but not for a search."""
    if run_filter.words and run_filter.sort is Sort.NEWEST:
        return payload_search.page(run_filter, matching_runs(run_filter))
    # First the ids, from the index alone: reading whole rows to leave most of them out takes ten times as long.
    limit, is_first = run_filter.limit, run_filter.after is None
    if run_filter.words:
        positions = _found_runs(run_filter)
    else:
        # The first page counts in the same pass: with a rare filter, each pass reads the whole index.
        positions = _positions(run_filter, _MAX_TOTAL + 1 if is_first else limit + 1)
    page_runs, more = positions[:limit], len(positions) > limit
    ids = [position.run_id for position in page_runs]
    families = families_of(ids, run_filter) if _is_nested(run_filter) else []
    by_id = with_summary_columns(Run.objects.all()).in_bulk([*ids, *(id for item in families for id in item.forks)])
    captions = captions_of(by_id.values())
    # A run may have been deleted between the queries.
    summaries = {id: run_summary(run, captions) for id, run in by_id.items()}
    is_counted = is_first and not (run_filter.words and more)
    return RunList(
        runs=[summaries[id] for id in ids if id in summaries],
        families=[
            RunFamily(
                root=family.root,
                forks=family.fork_count,
                matches=family.match_count,
                is_match=family.is_match,
                runs=[summaries[id] for id in family.forks if id in summaries],
            )
            for family in families
        ],
        next=cursor_text(page_runs[-1], run_filter.sort) if more else None,
        total=min(len(positions), _MAX_TOTAL) if is_counted else None,
        more_than_total=is_counted and len(positions) > _MAX_TOTAL,
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
    return RunListing.objects.filter(VISIBLE, condition_of(run_filter))


def _is_nested(run_filter: RunFilter) -> bool:
    """Whether forks are below their first run. A search lists each hit."""
    return run_filter.forks is ForkPlace.BELOW_SOURCE and not run_filter.words


def _positions(run_filter: RunFilter, size: int) -> list[Position]:
    """Return at most `size` runs in the order of the list."""
    after = run_filter.after if isinstance(run_filter.after, Position) else None
    sort, outcomes = run_filter.sort, run_filter.outcomes
    if _is_nested(run_filter):
        # A run may be listed for the outcome of a fork.
        return in_order(first_runs(run_filter), sort, tuple(Outcome), after, size)
    runs = matching_runs(run_filter)
    if sort is Sort.NEWEST and len(outcomes) < len(Outcome):
        # An index has the newest runs of each outcome in order.
        parts = [in_order(runs.filter(outcome=outcome), sort, outcomes, after, size) for outcome in outcomes]
        return nlargest(size, chain.from_iterable(parts))
    return in_order(runs, sort, outcomes, after, size)


def _found_runs(run_filter: RunFilter) -> list[Position]:
    """Return a page of a search that is not in the order of arrival, and one run more if there are more."""
    found_runs = matching_runs(run_filter).filter(run__in=payload_search.newest_runs(run_filter.words))
    rows = found_runs.values_list("run", run_filter.sort.column)
    positions = sort_positions([Position(str(id), key) for id, key in rows], run_filter.sort)
    after = run_filter.after
    if isinstance(after, Position):
        # The last run of a page may have left the list.
        remaining = [position for position in positions if position.id != after.id]
        sequence = sort_positions([*remaining, after], run_filter.sort)
        positions = sequence[sequence.index(after) + 1 :]
    return positions[: run_filter.limit + 1]


def _facet(counts: Counter[str]) -> list[Facet]:
    values = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Facet(value=value, count=count) for value, count in values if value and count]
