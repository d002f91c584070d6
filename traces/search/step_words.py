"""The words of each step that no earlier step of its run contains, read from stored payloads in pieces.

A text is found where it first occurs, and a copied step in its source.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Final, NamedTuple
from uuid import UUID

from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Step
from traces.payloads.digest_packing import part_digests
from traces.search.tokens import words_of_json, words_of_text
from traces.storage import artifacts, bulk
from traces.storage.artifacts import StoredBytes
from traces.storage.packs import RecentPacks

# Bytes of a piece. Each step may have one of new text, whatever the rest of its run contains.
PIECE: Final = 16 * 1024
# Bytes of new text of a run beyond the first piece of each step.
MAX_TEXT: Final = 16 * 1024 * 1024
# Steps whose payloads are in memory at a time.
_STEPS: Final = 500
# Parts that many runs share, such as system prompts.
_CACHE: Final = 1_000
# Before the end of a piece, in bytes: a piece ends between two words, and longer ones are encoded data.
_LONGEST_WORD: Final = 1024
# Members of attributes with the messages that no step contains.
_NOTES: Final = (b'"unread_messages":', b'"empty_messages":')
_COLUMNS: Final = (
    *("run_id", "sequence_no", "reason", "type", "parent_no", "input_ref", "output_ref", "attributes_ref", "label"),
    *("name", "tool_name", "model", "error"),
)


# Words and their bytes.
_Piece = tuple[set[str], int]
# Names of steps, tools and models repeat in all runs of a program.
_name_words: Final = lru_cache(_CACHE)(words_of_text)


class StepWords(NamedTuple):
    """New words of a step: those of its first piece, or those of `extra` further bytes."""

    run_id: UUID
    number: int
    words: set[str]
    extra: int


@dataclass(kw_only=True, slots=True)
class _Part:
    """The first piece of an artifact, the artifacts that it refers to, and its size."""

    sha256: str
    data: bytes
    refers_to: Sequence[str]
    size: int
    uses: int = 0
    _words: set[str] | None = None

    @property
    def words(self) -> set[str]:
        """The words of the first piece. They stay, because other runs have this part, too."""
        if self._words is None:
            self._words = words_of_json(self.data)
        return self._words

    def pieces(self) -> Iterator[_Piece]:
        """Yield the words and the size of each piece. A long artifact is read again, so that few are in memory."""
        yield self.words, min(self.size, PIECE)
        if self.size > PIECE:
            for artifact in artifacts.verify([self.sha256]):
                if isinstance(artifact, StoredBytes):
                    yield from ((words_of_json(piece), len(piece)) for piece in islice(_pieces(artifact.data), 1, None))


@dataclass(kw_only=True, slots=True)
class _Reading:
    """The parts of a run that were read, and the bytes that its steps may still have beyond their first pieces."""

    visits: set[str] = field(default_factory=set)
    allowance: int = MAX_TEXT


_parts: OrderedDict[str, _Part] = OrderedDict()


def forget_parts() -> None:
    """Clear the words of the parts that runs share."""
    _parts.clear()


def step_words(run_ids: Sequence[UUID]) -> Iterator[StepWords]:
    """Yield the new words of the steps of these runs, in order."""
    readings, recent_packs = {run_id: _Reading() for run_id in run_ids}, RecentPacks()
    steps = Step.objects.filter(bulk.id_condition("run", run_ids)).order_by("run_id", "sequence_no")
    for chunk in bulk.batches_of(steps.values_list(*_COLUMNS), _STEPS):
        rows_by_run = [(bulk.uuid_of(run_id), list(rows)) for run_id, rows in groupby(chunk, itemgetter(0))]
        notes = _notes({row[7] for row in chunk if row[3] == StepType.AGENT and row[4] is None}, recent_packs)
        refs = {ref for row in chunk for ref in row[5:7]}
        # The payloads of a long run refer to those of its earlier steps, over and over.
        visits = readings[rows_by_run[0][0]].visits if len(rows_by_run) == 1 else set()
        parts = _load((refs | notes) - visits - {""}, visits, recent_packs)
        for run_id, rows in rows_by_run:
            reading = readings[run_id]
            for _, number, reason, _, _, *step_refs, label, name, tool_name, model, error in rows:
                new_parts = _new_parts(step_refs, parts, reading.visits)
                # A copied step is to be found in its source, but no text of later steps.
                if label != Label.EXACT and reason != Reason.SOURCE_OUTPUT_REUSED:
                    pieces = _pieces_of_step((name, tool_name, model, error), new_parts, reading)
                    yield from (StepWords(run_id, number, words, extra) for words, extra in pieces)


def _notes(refs: set[str], recent_packs: RecentPacks) -> set[str]:
    """Return which attributes contain messages that no step contains."""
    return {
        artifact.sha256
        for artifact in artifacts.verify(refs - {""}, recent_packs)
        if isinstance(artifact, StoredBytes) and any(name in artifact.data for name in _NOTES)
    }


def _pieces_of_step(texts: Sequence[str], parts: Sequence[_Part], reading: _Reading) -> Iterable[_Piece]:
    """Return the words of a step's texts and new parts; those of most steps are one piece."""
    *names, error = texts
    if len(error) + sum([part.size for part in parts]) >= PIECE:
        pieces = chain(_text_pieces(" ".join(texts)), *(part.pieces() for part in parts))
        return _allowed_pieces(pieces, reading)
    shared_words: list[set[str]] = [_name_words(" ".join(names)), words_of_text(error)]
    # Most parts are of this run alone: their words are looked up together, and none is cached.
    own_data: list[bytes] = []
    for part in parts:
        if part.uses:
            shared_words.append(part.words)
        else:
            own_data.append(part.data)
        part.uses += 1
    words = words_of_json(b" ".join(own_data)).union(*shared_words)
    return [(words, 0)] if words else []


def _allowed_pieces(pieces: Iterable[_Piece], reading: _Reading) -> Iterator[_Piece]:
    """Join pieces to at least the size of one, and yield them up to the allowance of the run."""
    words: set[str] = set()
    size, is_first = 0, True
    for piece_words, piece_size in pieces:
        words |= piece_words
        size += piece_size
        if size >= PIECE:
            yield words, 0 if is_first else size
            reading.allowance -= 0 if is_first else size
            words, size, is_first = set(), 0, False
            if reading.allowance <= 0:
                break
    if words:
        yield words, 0 if is_first else size
        reading.allowance -= 0 if is_first else size


def _new_parts(refs: Iterable[str], parts: dict[str, _Part], visits: set[str]) -> list[_Part]:
    """Return the parts that no earlier step contains, and add them to `visits`."""
    new_parts: list[_Part] = []
    # The output first, and the newest messages of the input before the older ones.
    stack = list(refs)
    while stack:
        ref = stack.pop()
        if ref not in visits and (part := parts.get(ref)) is not None:
            visits.add(ref)
            new_parts.append(part)
            stack += part.refers_to
    return new_parts


def _text_pieces(text: str) -> Iterator[_Piece]:
    if len(text) <= PIECE:
        yield words_of_text(text), 0
    else:
        yield from ((words_of_text(piece.decode(errors="replace")), len(piece)) for piece in _pieces(text.encode()))


def _pieces(data: bytes) -> Iterator[bytes]:
    """Cut data into pieces, between two words where it has any."""
    start = 0
    while start < len(data):
        end = _end(data, start)
        yield data[start:end]
        start = end


def _end(data: bytes, start: int) -> int:
    """Return where the piece ends that begins at `start`."""
    end = start + PIECE
    if end >= len(data):
        return len(data)
    separator = max(data.rfind(mark, end - _LONGEST_WORD, end) for mark in (b" ", b","))
    if separator > 0:
        return separator
    # Not within a character, nor within an escape.
    while data[end] & 0xC0 == 0x80 or data[end - 1] == ord("\\"):
        end -= 1
    return end


def _load(digests: set[str], visits: set[str], recent_packs: RecentPacks) -> dict[str, _Part]:
    """Return these artifacts and those that they refer to; missing and damaged ones are skipped."""
    parts: dict[str, _Part] = {}
    while digests:
        parts |= _cached_parts(digests)
        for artifact in artifacts.verify(digests.difference(parts), recent_packs):
            if isinstance(artifact, StoredBytes):
                parts[artifact.sha256] = _remember(artifact)
        references = (ref for digest in digests.intersection(parts) for ref in parts[digest].refers_to)
        digests = {ref for ref in references if ref not in parts and ref not in visits}
    return parts


def _cached_parts(digests: Iterable[str]) -> dict[str, _Part]:
    parts = {digest: _parts[digest] for digest in digests if digest in _parts}
    for digest in parts:
        _parts.move_to_end(digest)
    return parts


def _remember(artifact: StoredBytes) -> _Part:
    data, size = artifact.data, len(artifact.data)
    first = data if size <= PIECE else next(_pieces(data))
    part = _Part(sha256=artifact.sha256, data=first, refers_to=part_digests(data), size=size)
    _parts[artifact.sha256] = part
    if len(_parts) > _CACHE:
        _parts.popitem(last=False)
    return part
