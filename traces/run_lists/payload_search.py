"""Search runs by words: sealed runs through the search index, runs that are not in it yet by their own words.

A run's own words are its names, note, ids, app, models, tags and first input; the index also has those of its payloads.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from traces.captions.queries import captions_of
from traces.models import Run, RunListing, UnindexedRun
from traces.run_lists.run_filter import RunFilter
from traces.run_lists.sort_orders import SearchCursor, search_cursor_text
from traces.runs.presenters import run_summary, with_summary_columns
from traces.schemas import RunList
from traces.search import documents, hits, indexer
from traces.search.documents import Match
from traces.search.tokens import query_words

# Documents that a page looks at: filters may leave out most of them, and a page must not take long. Few first, then
# more: PostgreSQL finds all matches again for each chunk.
_CHUNKS: Final = (500, 1_000, 2_500)
_MAX_MATCHES: Final = sum(_CHUNKS)
_MAX_UNINDEXED: Final = 1_000


def page(run_filter: RunFilter, runs: QuerySet[RunListing]) -> RunList:
    """Return the newest of these runs that contain all words, with their hits.

    A page may be short, or even empty, although there are more: it looks at a limited number of matches.
    """
    words = query_words(run_filter.words)
    new_runs = _new_runs(run_filter.words, runs)[: run_filter.limit] if run_filter.after is None else []
    matches, last = _matches(run_filter, words, runs, run_filter.limit - len(new_runs))
    rows = with_summary_columns(Run.objects.filter(id__in=[match.run_id for match in matches]))
    by_id = {run.id: run for run in rows}
    page_runs = [*new_runs, *(by_id[match.run_id] for match in matches if match.run_id in by_id)]
    captions = captions_of(page_runs)
    return RunList(
        runs=[run_summary(run, captions) for run in page_runs],
        families=[],
        next=search_cursor_text(last) if last is not None else None,
        total=len(page_runs) if run_filter.after is None and last is None else None,
        hits=hits.hits(matches, words),
        unindexed_runs=UnindexedRun.objects.all()[:_MAX_UNINDEXED].count(),
    )


def newest_runs(words: Sequence[str]) -> list[UUID]:
    """Return the newest runs that contain all words, up to a limit, for a list in another order."""
    matches = documents.newest_matches(query_words(words), before=None, limit=_MAX_MATCHES)
    new_runs = [run.id for run in _new_runs(words, RunListing.objects.all())]
    return [*new_runs, *dict.fromkeys(match.run_id for match in matches)]


def _new_runs(words: Sequence[str], listed_runs: QuerySet[RunListing]) -> list[Run]:
    """Return runs that are not in the index yet, newest first."""
    ids = indexer.unindexed_runs(_MAX_UNINDEXED)
    if not ids:
        return []
    runs = Run.objects.filter(id__in=listed_runs.filter(run__in=ids).values_list("run", flat=True))
    for word in words:
        captions = [Q(**{f"caption__{name}__icontains": word}) for name in ("title", "note", "tags")]
        runs = runs.filter(reduce(or_, captions, Q(search__contains=word)))
    return list(with_summary_columns(runs).order_by("-id")[:_MAX_UNINDEXED])


def _matches(
    run_filter: RunFilter, words: Sequence[str], runs: QuerySet[RunListing], limit: int
) -> tuple[list[Match], int | None]:
    """Return at most `limit` documents whose runs are in `runs`, each run once, and where the next page starts."""
    matches: dict[UUID, Match] = {}
    last = run_filter.after.document if isinstance(run_filter.after, SearchCursor) else None
    for chunk, is_last in _chunks(words, last):
        ids = set(runs.filter(run__in=[match.run_id for match in chunk]).values_list("run", flat=True))
        for match in chunk:
            if match.run_id in ids and match.run_id not in matches:
                if len(matches) == limit:
                    return list(matches.values()), last
                matches[match.run_id] = match
            last = match.id
        if is_last:
            return list(matches.values()), None
    return list(matches.values()), last


def _chunks(words: Sequence[str], before: int | None) -> Iterator[tuple[list[Match], bool]]:
    """Yield matches from the newest on, and whether they are the last."""
    for limit in _CHUNKS:
        chunk = documents.newest_matches(words, before=before, limit=limit)
        yield chunk, len(chunk) < limit
        if len(chunk) < limit:
            return
        before = chunk[-1].id
