"""Index the words of sealed runs in the background, oldest first. A crash loses nothing: runs wait in a table."""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from traces.core.gc_pause import without_pauses
from traces.core.vocabulary import RunSource
from traces.models import Run, RunCaption, SearchDocument, UnindexedRun
from traces.search import documents
from traces.search.documents import RUN_POSITION, NewDocument
from traces.search.step_words import forget_parts, step_words
from traces.search.tokens import MAX_LENGTH, words_of_text
from traces.storage import bulk

# Steps per document: all words of a query must occur in one of them.
SECTION: Final = 1_000
# Of a document, in characters with 20 for the positions of each word; PostgreSQL allows 1 MB.
MAX_WORDS: Final = 900_000
_MAX_POSITIONS: Final = 8
_WORD_COST: Final = 20
# Runs of a batch, and their steps.
_BATCH: Final = 400
_BATCH_STEPS: Final = 2_000
# Bytes of long texts after which a batch takes no further run: their words are in memory until they are stored.
_BATCH_TEXT: Final = 16 * 1024 * 1024
_LEASE: Final = timedelta(seconds=60)
# Between looks at the runs of another process.
_PAUSE_S: Final = 0.1


def work() -> bool:
    """Index a batch of runs; return whether there were any."""
    run_ids = _claim()
    if not run_ids:
        return False
    contents = _documents(run_ids)
    with transaction.atomic():
        # A run may have been deleted meanwhile. Its row is locked until its documents are written.
        rows = UnindexedRun.objects.select_for_update().filter(bulk.id_condition("run", contents)).order_by("run_id")
        ids = list(rows.values_list("run_id", flat=True))
        documents.insert(document for run_id in ids for document in contents[run_id])
        # Read under the lock: a caption that changes later waits for this transaction, and then updates the document.
        update_own_words(RunCaption.objects.filter(bulk.id_condition("run", ids)).values_list("run_id", flat=True))
        UnindexedRun.objects.filter(bulk.id_condition("run", ids)).delete()
    if later_ids := set(run_ids) - contents.keys():
        UnindexedRun.objects.filter(run_id__in=later_ids).update(leased_until=None)
    return True


def enqueue(run_ids: Iterable[UUID]) -> None:
    """Index runs in the background."""
    bulk.insert(UnindexedRun, ("run",), ((run_id,) for run_id in run_ids), ignore_conflicts=True)


def enqueue_forks() -> None:
    """Index the forks again that left the index because their source was deleted."""
    forks = _listed_runs().filter(source_run__isnull=False)
    forks = forks.exclude(id__in=SearchDocument.objects.values("run"))
    # Those that wait already stay as they are.
    enqueue(list(forks.values_list("id", flat=True)))


def remove(run_ids: Iterable[UUID]) -> None:
    """Remove runs from the index; call it inside a transaction."""
    for chunk in bulk.chunks(run_ids):
        # First, because this waits for a worker that is writing their documents.
        UnindexedRun.objects.filter(run_id__in=chunk).delete()
        documents.remove(chunk)


def update_own_words(run_ids: Iterable[UUID]) -> None:
    """Index runs by the words of their changed captions; call it inside a transaction."""
    for chunk in bulk.chunks(run_ids):
        # First, because this waits for a worker that is writing their documents.
        list(UnindexedRun.objects.select_for_update().filter(run_id__in=chunk).order_by("run_id").values_list("run_id"))
        searches = dict(Run.objects.filter(id__in=chunk).values_list("id", "search"))
        captions = _caption_words(chunk)
        documents.set_own_words({id: words_of_text(text) | captions.get(id, set()) for id, text in searches.items()})


def _caption_words(run_ids: Sequence[UUID]) -> dict[UUID, set[str]]:
    rows = RunCaption.objects.filter(run_id__in=run_ids).values_list("run_id", "title", "note", "tags")
    return {id: words_of_text(" ".join([title, note, *(tags or [])])) for id, title, note, tags in rows}


def rebuild() -> int:
    """Empty the index, index all runs again, and return the number of documents.

    Waits for the runs that another process indexes, at most until its lease ends.
    """
    with transaction.atomic():
        UnindexedRun.objects.all().delete()
        documents.clear()
        enqueue(_listed_runs().values_list("id", flat=True).iterator())
    waiting = UnindexedRun.objects.order_by("-run_id").values_list("run_id", flat=True)
    # Runs that arrive meanwhile have higher ids.
    newest = waiting.first()
    while newest is not None and waiting.filter(run_id__lte=newest).exists():
        if not work():
            time.sleep(_PAUSE_S)
    return SearchDocument.objects.count()


def _listed_runs() -> QuerySet[Run]:
    """Return the runs that a search covers."""
    runs = Run.objects.filter(sealed_at__isnull=False, deletion__isnull=True).exclude(source=RunSource.PROBE)
    return runs.filter(Q(superseded_by__isnull=True) | Q(superseded_by__sealed_at__isnull=True))


def release_leases() -> None:
    """Take over the runs of an earlier process at once: no other process can own them."""
    UnindexedRun.objects.filter(leased_until__isnull=False).update(leased_until=None)


def _claim() -> list[UUID]:
    """Lease the oldest runs, up to the size of a batch, and the first in any case."""
    free = _free_runs()
    if not free.exists():
        return []
    with transaction.atomic():
        rows = free.select_for_update(skip_locked=True, of=("self",)).order_by("run_id")
        counts = rows.values_list("run_id", "run__step_count")[:_BATCH]
        totals = accumulate(count for _, count in counts)
        ids = [id for (id, count), total in zip(counts, totals, strict=True) if total <= max(_BATCH_STEPS, count)]
        UnindexedRun.objects.filter(bulk.id_condition("run", ids)).update(leased_until=datetime.now(UTC) + _LEASE)
    return ids


def _free_runs() -> QuerySet[UnindexedRun]:
    """Return the runs that wait and that no process indexes."""
    now = datetime.now(UTC)
    # No lease is that long: the clock has been set back since.
    is_too_late = Q(leased_until__gt=now + 2 * _LEASE)
    return UnindexedRun.objects.filter(Q(leased_until__isnull=True) | Q(leased_until__lt=now) | is_too_late)


@without_pauses()
def _documents(run_ids: Sequence[UUID]) -> dict[UUID, list[NewDocument]]:
    """Return the documents of each run, one per section; those of the first runs only if they have long texts."""
    rows = list(Run.objects.filter(bulk.id_condition("id", run_ids)).values_list("id", "search", "source_run"))
    if any(source_run for _, _, source_run in rows):
        # A fork refers to artifacts of its source after these were deleted, and the cache may still have their words.
        forget_parts()
    indexes = {run_id: _RunIndex(run_id, search) for run_id, search, _ in rows}
    extra = 0
    indexed_ids: set[UUID] = set()
    for step in step_words(run_ids):
        if extra > _BATCH_TEXT and step.run_id not in indexed_ids:
            indexes = {run_id: index for run_id, index in indexes.items() if run_id in indexed_ids}
            break
        indexed_ids.add(step.run_id)
        extra += step.extra
        indexes[step.run_id].add(step.words, step.number)
    return {run_id: index.documents() for run_id, index in indexes.items()}


class _RunIndex:
    """Collects the documents of a run, the first of which has the run's own words."""

    def __init__(self, run_id: UUID, search: str) -> None:
        self._run_id = run_id
        self._documents: list[NewDocument] = []
        self._section = _Section(first_step=1)
        self._section.add(words_of_text(search), RUN_POSITION)

    def add(self, words: set[str], number: int) -> None:
        if number >= self._section.first_step + SECTION or self._section.is_full:
            self._documents.append(self._section.document(self._run_id))
            self._section = _Section(first_step=number)
        self._section.add(words, RUN_POSITION + 1 + number - self._section.first_step)

    def documents(self) -> list[NewDocument]:
        return [*self._documents, self._section.document(self._run_id)]


class _Section:
    """Collects the words of consecutive steps, up to the size of a document."""

    def __init__(self, first_step: int) -> None:
        self.first_step = first_step
        self._positions: dict[str, str] = {}
        # Words that have enough positions.
        self._complete_words: set[str] = set()
        # A long step adds its words in pieces.
        self._latest_words: set[str] = set()
        self._latest_position = 0
        self._size = 0

    @property
    def is_full(self) -> bool:
        return self._size > MAX_WORDS

    def add(self, words: set[str], position: int) -> None:
        positions = self._positions
        if position == self._latest_position:
            words = words - self._latest_words
        new_words = words.difference(positions)
        ending = f",{position}"
        for word in words - new_words - self._complete_words:
            positions[word] += ending
            if position >= _MAX_POSITIONS and positions[word].count(",") == _MAX_POSITIONS - 1:
                self._complete_words.add(word)
        if max(map(len, new_words), default=0) > MAX_LENGTH:
            new_words = {word for word in new_words if len(word) <= MAX_LENGTH}
        positions |= dict.fromkeys(new_words, str(position))
        self._latest_words = words | self._latest_words if position == self._latest_position else words
        self._latest_position = position
        self._size += len("".join(new_words).encode()) + _WORD_COST * len(new_words)

    def document(self, run_id: UUID) -> NewDocument:
        return NewDocument.of_positions(run_id, self.first_step, self._positions)


def unindexed_runs(limit: int) -> list[UUID]:
    """Return the newest runs that are not searchable by their payloads yet: open ones, and those that wait."""
    runs = Run.objects.filter(sealed_at__isnull=True).order_by("-id").values_list("id", flat=True)
    rows = UnindexedRun.objects.order_by("-run_id").values_list("run_id", flat=True)
    return sorted({*runs[:limit], *rows[:limit]}, reverse=True)[:limit]
