"""Index the words of sealed runs in the background, oldest first. A crash loses nothing: runs wait in a table."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from typing import Final, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from traces.core.vocabulary import Label, RunSource
from traces.models import Run, RunCaption, SearchDocument, Step, UnindexedRun
from traces.payloads.digest_packing import part_digests
from traces.search import documents
from traces.search.documents import RUN_POSITION, NewDocument
from traces.search.tokens import MAX_LENGTH, words_of_json, words_of_text
from traces.storage import artifacts, bulk
from traces.storage.artifacts import StoredBytes

# Bytes of new text per step.
MAX_TEXT: Final = 16 * 1024
# Steps per document: all words of a query must occur in one of them.
SECTION: Final = 1_000
# Of a document, in characters with 20 for the positions of each word; PostgreSQL allows 1 MB.
MAX_WORDS: Final = 900_000
_MAX_POSITIONS: Final = 8
_WORD_COST: Final = 20
# Runs of a batch, and their steps.
_BATCH: Final = 100
_BATCH_STEPS: Final = 2_000
# Steps whose payloads are in memory at a time.
_STEPS: Final = 500
# Parts that many runs share, such as system prompts.
_CACHE: Final = 1_000
_LEASE: Final = timedelta(seconds=60)
_COLUMNS: Final = ("run_id", "sequence_no", "label", "input_ref", "output_ref", "name", "tool_name", "model", "error")


class _Part(NamedTuple):
    """The words of an artifact, the artifacts that it refers to, and its size."""

    words: AbstractSet[str]
    refers_to: Sequence[str]
    size: int


_parts: OrderedDict[str, _Part] = OrderedDict()


def work() -> bool:
    """Index a batch of runs; return whether there were any."""
    run_ids = _claim()
    if not run_ids:
        return False
    contents = _documents(run_ids)
    with transaction.atomic():
        # A run may have been deleted meanwhile. Its row is locked until its documents are written.
        rows = UnindexedRun.objects.select_for_update().filter(run_id__in=run_ids).order_by("run_id")
        ids = list(rows.values_list("run_id", flat=True))
        documents.insert(document for run_id in ids for document in contents.get(run_id, ()))
        # Read under the lock: a caption that changes later waits for this transaction, and then updates the document.
        update_own_words(RunCaption.objects.filter(run_id__in=ids).values_list("run_id", flat=True))
        UnindexedRun.objects.filter(run_id__in=ids).delete()
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


def restart() -> None:
    """Empty the index, and index all runs again."""
    with transaction.atomic():
        UnindexedRun.objects.all().delete()
        documents.clear()
        enqueue(_listed_runs().values_list("id", flat=True).iterator())


def _listed_runs() -> QuerySet[Run]:
    """Return the runs that a search covers."""
    runs = Run.objects.filter(sealed_at__isnull=False, deletion__isnull=True).exclude(source=RunSource.PROBE)
    return runs.filter(Q(superseded_by__isnull=True) | Q(superseded_by__sealed_at__isnull=True))


def document_count() -> int:
    return SearchDocument.objects.count()


def release_leases() -> None:
    """Take over the runs of an earlier process at once: no other process can own them."""
    UnindexedRun.objects.filter(leased_until__isnull=False).update(leased_until=None)


def _claim() -> list[UUID]:
    """Lease the oldest runs, up to the size of a batch, and the first in any case."""
    now = datetime.now(UTC)
    free = UnindexedRun.objects.filter(Q(leased_until__isnull=True) | Q(leased_until__lt=now))
    if not free.exists():
        return []
    with transaction.atomic():
        rows = free.select_for_update(skip_locked=True, of=("self",)).order_by("run_id")
        counts = rows.values_list("run_id", "run__step_count")[:_BATCH]
        totals = accumulate(count for _, count in counts)
        ids = [id for (id, count), total in zip(counts, totals, strict=True) if total <= max(_BATCH_STEPS, count)]
        UnindexedRun.objects.filter(run_id__in=ids).update(leased_until=now + _LEASE)
    return ids


def _documents(run_ids: Sequence[UUID]) -> dict[UUID, list[NewDocument]]:
    """Return the documents of each run, one per section."""
    sections: dict[UUID, list[_Section]] = {}
    rows = list(Run.objects.filter(id__in=run_ids).values_list("id", "search", "source_run"))
    if any(source_run for _, _, source_run in rows):
        # A fork refers to artifacts of its source after these were deleted, and the cache may still have their words.
        _parts.clear()
    for run_id, search, _ in rows:
        first = _Section(run_id, first_step=1)
        first.add(words_of_text(search), RUN_POSITION)
        sections[run_id] = [first]
    for run_id, number, words in _step_words(run_ids):
        section = sections[run_id][-1]
        if number >= section.first_step + SECTION:
            section = _Section(run_id, first_step=number)
            sections[run_id].append(section)
        section.add(words, RUN_POSITION + 1 + number - section.first_step)
    return {run_id: [section.document() for section in sections[run_id]] for run_id in sections}


class _Section:
    """Collects the words of consecutive steps, up to the size of a document."""

    def __init__(self, run_id: UUID, first_step: int) -> None:
        self.first_step = first_step
        self._run_id = run_id
        self._positions: dict[str, list[int]] = {}
        # Words that have enough positions.
        self._complete_words: set[str] = set()
        self._size = 0

    def add(self, words: AbstractSet[str], position: int) -> None:
        positions = self._positions
        new_words = words - positions.keys()
        for word in words - new_words - self._complete_words:
            places = positions[word]
            places.append(position)
            if len(places) == _MAX_POSITIONS:
                self._complete_words.add(word)
        if self._size > MAX_WORDS:
            return
        new_words = {word for word in new_words if len(word) <= MAX_LENGTH}
        positions.update((word, [position]) for word in new_words)
        self._size += len("".join(new_words).encode()) + _WORD_COST * len(new_words)

    def document(self) -> NewDocument:
        return NewDocument(run_id=self._run_id, first_step=self.first_step, positions=self._positions)


def _step_words(run_ids: Sequence[UUID]) -> Iterator[tuple[UUID, int, set[str]]]:
    """Yield the words that are new in each step: a text is found where it first occurs, a copied step in its source."""
    visits: dict[UUID, set[str]] = {run_id: set() for run_id in run_ids}
    steps = Step.objects.filter(run_id__in=run_ids).order_by("run_id", "sequence_no")
    rows = steps.values_list(*_COLUMNS).iterator(chunk_size=_STEPS)
    while chunk := list(islice(rows, _STEPS)):
        # The payloads of a long run refer to those of its earlier steps, over and over.
        is_one_run = chunk[0][0] == chunk[-1][0]
        refs = {ref for run_id, _, _, *refs, _, _, _, _ in chunk for ref in refs if ref not in visits[run_id]}
        parts = _load(refs - {""}, visits[chunk[0][0]] if is_one_run else set())
        for run_id, number, label, *refs_and_texts in chunk:
            words = _new_words(refs_and_texts[:2], parts, visits[run_id])
            if label != Label.EXACT:
                yield run_id, number, words | words_of_text(" ".join(refs_and_texts[2:])[:MAX_TEXT])


def _new_words(refs: Iterable[str], parts: dict[str, _Part], visits: set[str]) -> set[str]:
    """Return the words of the parts that no earlier step contains, up to the limit of a step."""
    # The output first, and the newest messages of the input before the older ones.
    stack = [ref for ref in refs if ref]
    words: set[str] = set()
    size = 0
    while stack:
        ref = stack.pop()
        if ref in visits or ref not in parts:
            continue
        visits.add(ref)
        part = parts[ref]
        if size < MAX_TEXT:
            size += part.size
            words |= part.words
        stack += part.refers_to
    return words


def _load(digests: set[str], visits: set[str]) -> dict[str, _Part]:
    """Return these artifacts and those that they refer to; missing and damaged ones are skipped."""
    parts: dict[str, _Part] = {}
    while digests:
        parts |= _cached_parts(digests)
        for artifact in artifacts.verify(digests - parts.keys()):
            if isinstance(artifact, StoredBytes):
                parts[artifact.sha256] = _remember(artifact)
        references = (ref for digest in digests & parts.keys() for ref in parts[digest].refers_to)
        digests = {ref for ref in references if ref not in parts and ref not in visits}
    return parts


def _cached_parts(digests: Iterable[str]) -> dict[str, _Part]:
    parts = {digest: _parts[digest] for digest in digests if digest in _parts}
    for digest in parts:
        _parts.move_to_end(digest)
    return parts


def _remember(artifact: StoredBytes) -> _Part:
    data = artifact.data
    part = _Part(words_of_json(data[:MAX_TEXT]), part_digests(data), min(len(data), MAX_TEXT))
    _parts[artifact.sha256] = part
    if len(_parts) > _CACHE:
        _parts.popitem(last=False)
    return part


def unindexed_runs(limit: int) -> list[UUID]:
    """Return the newest runs that are not searchable by their payloads yet: open ones, and those that wait."""
    runs = Run.objects.filter(sealed_at__isnull=True).order_by("-id").values_list("id", flat=True)
    rows = UnindexedRun.objects.order_by("-run_id").values_list("run_id", flat=True)
    return sorted({*runs[:limit], *rows[:limit]}, reverse=True)[:limit]
