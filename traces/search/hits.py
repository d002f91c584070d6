"""Where a search matched: the step with most of the words, and the piece of its text around them."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import orjson
from django.db.models import Q

from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.payloads.digest_packing import part_digests
from traces.payloads.parts import BLOCKS, LITERAL, PART
from traces.schemas import SearchHit, SnippetPart
from traces.search import documents
from traces.search.documents import RUN_POSITION, Match
from traces.search.tokens import fold, fold_places, word_pattern
from traces.storage import artifacts
from traces.storage.artifacts import StoredBytes

# Characters of a text before the first word that matches, and in all.
_BEFORE: Final = 60
_LENGTH: Final = 220
# Artifacts of a step that are read to find its text, newest first.
_MAX_PARTS: Final = 40
_MAX_LEVELS: Final = 5
_NAMES: Final = ("error", "name", "tool_name", "model")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    run_id: UUID
    step: int


def hits(matches: Sequence[Match], words: Sequence[str]) -> list[SearchHit]:
    """Return the hits of these documents; those that matched only in the run's own words have none."""
    if not matches:
        return []
    places = list(_places(matches, words))
    condition = Q()
    for place in places:
        condition |= Q(run_id=place.run_id, sequence_no=place.step)
    steps = list(Step.objects.filter(condition)) if places else []
    texts = _Texts(steps)
    return [_hit(step, texts.texts_of(step), words) for step in steps]


def _places(matches: Sequence[Match], words: Sequence[str]) -> Iterator[_Place]:
    for run_id, first_step, sets in documents.positions([match.id for match in matches], words).values():
        counts = Counter(position for positions in sets for position in positions if position != RUN_POSITION)
        if counts:
            best = min(counts, key=lambda position: (-counts[position], position))
            yield _Place(run_id=run_id, step=first_step + best - RUN_POSITION - 1)


def _hit(step: Step, texts: Iterable[str], words: Sequence[str]) -> SearchHit:
    pattern = word_pattern(words)
    for text in texts:
        if match := pattern.search(fold(text)):
            composed_text = unicodedata.normalize("NFC", text)
            start = max(0, fold_places(composed_text)[match.start()] - _BEFORE)
            piece = " ".join(composed_text[start : start + _LENGTH].split())
            parts = list(_snippet(("…" if start else "") + piece, words))
            break
    else:
        parts = [SnippetPart(text=step.summary, is_match=False)]
    return SearchHit(run=step.run_id, step=step.sequence_no, name=step.name, type=step.type, snippet=parts)


def _snippet(text: str, words: Sequence[str]) -> Iterator[SnippetPart]:
    """Cut a text into pieces that match and pieces between them."""
    end, places = 0, fold_places(text)
    for match in word_pattern(words).finditer(fold(text)):
        match_start, match_end = places[match.start()], places[match.end()]
        if match_start > end:
            yield SnippetPart(text=text[end:match_start], is_match=False)
        yield SnippetPart(text=text[match_start:match_end], is_match=True)
        end = match_end
    if end < len(text):
        yield SnippetPart(text=text[end:], is_match=False)


def _refs(step: Step) -> Sequence[str]:
    """Return the payloads of a step; the attributes of a root may contain messages that no step contains."""
    is_root = step.type == StepType.AGENT and step.parent_no is None
    return step.output_ref, step.input_ref, step.attributes_ref if is_root else ""


class _Texts:
    """The texts of some steps, loaded together: a few queries per level of their payloads."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._values: dict[str, bytes] = {}
        self._refs = {step.id: [ref for ref in _refs(step) if ref] for step in steps}
        for _ in range(_MAX_LEVELS):
            new_refs = {ref for refs in self._refs.values() for ref in refs if ref not in self._values}
            if not new_refs:
                break
            for artifact in artifacts.verify(new_refs):
                if isinstance(artifact, StoredBytes):
                    self._values[artifact.sha256] = artifact.data
            for refs in self._refs.values():
                self._add_references(refs, new_refs)

    def texts_of(self, step: Step) -> Iterator[str]:
        """Yield the texts of a step: its output, its input from the newest message on, its names and its error."""
        for ref in self._refs[step.id]:
            if ref in self._values:
                yield from _strings(orjson.loads(self._values[ref]))
        yield from (getattr(step, name) for name in _NAMES)

    def _add_references(self, refs: list[str], new_refs: set[str]) -> None:
        for ref in [ref for ref in refs if ref in new_refs and ref in self._values]:
            for part in reversed(part_digests(self._values[ref])):
                if len(refs) < _MAX_PARTS and part not in refs:
                    refs.append(part)


def _strings(value: JSONValue) -> Iterator[str]:
    """Yield the texts in a stored value. An object's short values are one text with their names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, Mapping) and PART not in value and BLOCKS not in value:
        members = value.get(LITERAL, value)
        items = members.values() if isinstance(members, Mapping) else [members]
        for item in items:
            yield from _strings(item)
        if isinstance(members, Mapping):
            facts = (f"{name}: {item}" for name, item in members.items() if isinstance(item, str | int | float))
            yield ", ".join(facts)
