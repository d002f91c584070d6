"""Match new tool calls with recorded ones. Pure.

Exact: same tool, same canonical arguments; each recorded call is used once, in order. Semantic: same tool, same
argument names, and every argument alike: numbers, booleans, dates, ids, addresses, paths and enumerations must
be equal; only free text may differ, and never by a number or a negation. The similarity of a call is the lowest
of its arguments'.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Hamming

from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.signatures.call_shapes import shape_of

Call = TypeVar("Call", bound=Hashable)
_MIN_COMMON_PLACES: Final = 4  # places of two marks, below which their texts are not alike
_MAX_CANDIDATES: Final = 3  # long texts that are read for one


@dataclass(frozen=True, kw_only=True)
class Match(Generic[Call]):
    """`similarity` is 1.0 for an exact match."""

    call: Call
    similarity: float


def _whole(tool: str, arguments: JSONValue) -> JSONValue:
    return arguments


@dataclass
class RecordedCalls(Generic[Call]):
    """Recorded calls that may answer new ones, each at most once. `reduce` selects what is compared."""

    reduce: Callable[[str, JSONValue], JSONValue] = _whole
    _exact: dict[str, list[Call]] = field(default_factory=dict)
    _shapes: dict[str, dict[Call, tuple[str, ...]]] = field(default_factory=dict)
    _keys: dict[Call, tuple[str, str]] = field(default_factory=dict)
    _last: dict[str, Call] = field(default_factory=dict)

    def add(self, call: Call, tool: str, arguments: JSONValue) -> None:
        """Add a call; calls are added in the order in which they were made."""
        exact, shape = self._key(tool, arguments), shape_of(tool, self.reduce(tool, arguments))
        self._exact.setdefault(exact, []).append(call)
        self._shapes.setdefault(shape.rigid, {})[call] = shape.texts
        self._keys[call] = (exact, shape.rigid)

    def use(self, call: Call) -> None:
        """Mark a call as used; no effect if it is unknown or already used."""
        if (keys := self._keys.pop(call, None)) is None:
            return
        exact, rigid = keys
        self._exact[exact].remove(call)
        self._last[exact] = call
        del self._shapes[rigid][call]

    def exact(self, tool: str, arguments: JSONValue) -> Match[Call] | None:
        """Next unused call with the same name and arguments."""
        waiting = self._exact.get(self._key(tool, arguments))
        return Match(call=waiting[0], similarity=1.0) if waiting else None

    def unused_matches(self, tool: str, arguments: JSONValue) -> list[Call]:
        """All unused calls with the same name and arguments, in order."""
        return self._exact.get(self._key(tool, arguments), [])

    def used_up(self, tool: str, arguments: JSONValue) -> Match[Call] | None:
        """Last used call with the same name and arguments, which an idempotent tool would repeat."""
        last = self._last.get(self._key(tool, arguments))
        return None if last is None else Match(call=last, similarity=1.0)

    def similar(
        self, tool: str, arguments: JSONValue, threshold: float, exclude: Collection[Call] = ()
    ) -> Match[Call] | None:
        """Most similar unused call at or above `threshold`, except some; the earliest if several are equal."""
        shape = shape_of(tool, self.reduce(tool, arguments))
        candidates = self._shapes.get(shape.rigid, {})
        if exclude:
            candidates = {call: texts for call, texts in candidates.items() if call not in exclude}
        if not candidates:
            return None
        if not shape.texts:
            return Match(call=next(iter(candidates)), similarity=1.0)
        scores = _alike(shape.texts, candidates, threshold)
        if not scores:
            return None
        best = max(scores, key=scores.__getitem__)
        return Match(call=best, similarity=scores[best])

    def unused_calls(self) -> list[Call]:
        return list(self._keys)

    def _key(self, tool: str, arguments: JSONValue) -> str:
        return exact_key(tool, self.reduce(tool, arguments))


def exact_key(tool: str, arguments: JSONValue) -> str:
    return digest([tool, arguments])


def similarity(before_arguments: JSONValue, after_arguments: JSONValue, tool: str = "") -> float:
    """Similarity of two calls of one tool by their arguments; 0.0 if a value that must be equal differs."""
    before, after = shape_of(tool, before_arguments), shape_of(tool, after_arguments)
    if before.rigid != after.rigid:
        return 0.0
    return min((fuzz.ratio(old, new) / 100 for old, new in zip(before.texts, after.texts, strict=True)), default=1.0)


def most_alike(texts: str, candidates: Sequence[str], threshold: float) -> tuple[str, float] | None:
    """Most similar candidate; each candidate lists the free texts of a call, one per line."""
    if "\n" not in texts:
        # One pass that ends a comparison as soon as it cannot win: most calls have one free text or none.
        match = process.extractOne(texts, candidates, scorer=fuzz.ratio, score_cutoff=threshold * 100)
        return None if match is None else (match[0], match[1] / 100)
    lines = {index: candidate.split("\n") for index, candidate in enumerate(candidates)}
    scores = _alike(texts.split("\n"), lines, threshold)
    best = max(scores, key=scores.__getitem__, default=None)
    return None if best is None else (candidates[best], scores[best])


def nearest_marks(mark: str, candidates: Sequence[str]) -> list[str]:
    """Fingerprints of long texts that may be similar, most promising first."""
    distinct_marks = list(dict.fromkeys(candidates))
    matches = process.extract(
        mark, distinct_marks, scorer=Hamming.similarity, score_cutoff=_MIN_COMMON_PLACES, limit=_MAX_CANDIDATES
    )
    return [match for match, *_ in matches]


def _alike(texts: Sequence[str], candidates: Mapping[Call, Sequence[str]], threshold: float) -> dict[Call, float]:
    """Candidates that are similar enough in every text, in order, with their lowest similarity."""
    scores: dict[Call, float] = dict.fromkeys(candidates, 1.0)
    for position, text in enumerate(texts):
        scores = _narrow(scores, candidates, position, text, threshold)
    return scores


def _narrow(
    scores: dict[Call, float], candidates: Mapping[Call, Sequence[str]], position: int, text: str, threshold: float
) -> dict[Call, float]:
    choices = {call: candidates[call][position] for call in scores}
    matches = process.extract(text, choices, scorer=fuzz.ratio, score_cutoff=threshold * 100, limit=None)
    score_by_call = {call: value / 100 for _, value, call in matches}
    # In the order of recording, so that the earliest of equals wins.
    return {call: min(score, score_by_call[call]) for call, score in scores.items() if call in score_by_call}
