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
_IN_COMMON: Final = 4  # places of two marks, below which their texts are not alike
_LOOKED_AT: Final = 3  # long texts that are read for one


@dataclass(frozen=True, kw_only=True)
class Match(Generic[Call]):
    """`similarity` is 1.0 for an exact match."""

    call: Call
    similarity: float


def _whole(tool: str, arguments: JSONValue) -> JSONValue:
    return arguments


@dataclass
class RecordedCalls(Generic[Call]):
    """Recorded calls that may answer new ones; each answers one. `reduced` selects what is compared."""

    reduced: Callable[[str, JSONValue], JSONValue] = _whole
    _exact: dict[str, list[Call]] = field(default_factory=dict)
    _shapes: dict[str, dict[Call, tuple[str, ...]]] = field(default_factory=dict)
    _of: dict[Call, tuple[str, str]] = field(default_factory=dict)
    _last: dict[str, Call] = field(default_factory=dict)

    def add(self, call: Call, tool: str, arguments: JSONValue) -> None:
        """Calls are added in the order in which they were made."""
        exact, shape = self._key(tool, arguments), shape_of(tool, self.reduced(tool, arguments))
        self._exact.setdefault(exact, []).append(call)
        self._shapes.setdefault(shape.rigid, {})[call] = shape.texts
        self._of[call] = (exact, shape.rigid)

    def use(self, call: Call) -> None:
        """Mark a call as used; no effect if it is unknown or already used."""
        if (keys := self._of.pop(call, None)) is None:
            return
        exact, rigid = keys
        self._exact[exact].remove(call)
        self._last[exact] = call
        del self._shapes[rigid][call]

    def exact(self, tool: str, arguments: JSONValue) -> Match[Call] | None:
        """Next unused call with the same name and arguments."""
        waiting = self._exact.get(self._key(tool, arguments))
        return Match(call=waiting[0], similarity=1.0) if waiting else None

    def waiting(self, tool: str, arguments: JSONValue) -> list[Call]:
        """All unused calls with the same name and arguments, in order."""
        return self._exact.get(self._key(tool, arguments), [])

    def used_up(self, tool: str, arguments: JSONValue) -> Match[Call] | None:
        """Last used call with the same name and arguments, which an idempotent tool would repeat."""
        last = self._last.get(self._key(tool, arguments))
        return None if last is None else Match(call=last, similarity=1.0)

    def similar(
        self, tool: str, arguments: JSONValue, threshold: float, but: Collection[Call] = ()
    ) -> Match[Call] | None:
        """The most similar unused call at or above `threshold`, but for some; of equals, the earliest."""
        shape = shape_of(tool, self.reduced(tool, arguments))
        candidates = self._shapes.get(shape.rigid, {})
        if but:
            candidates = {call: texts for call, texts in candidates.items() if call not in but}
        if not candidates:
            return None
        if not shape.texts:
            return Match(call=next(iter(candidates)), similarity=1.0)
        scores = _alike(shape.texts, candidates, threshold)
        if not scores:
            return None
        best = max(scores, key=scores.__getitem__)
        return Match(call=best, similarity=scores[best])

    def unused(self) -> list[Call]:
        return list(self._of)

    def _key(self, tool: str, arguments: JSONValue) -> str:
        return exact_key(tool, self.reduced(tool, arguments))


def exact_key(tool: str, arguments: JSONValue) -> str:
    return digest([tool, arguments])


def similarity(recorded: JSONValue, current: JSONValue, tool: str = "") -> float:
    """The similarity of two calls of one tool by their arguments; 0.0 where something that must be equal is not."""
    before, after = shape_of(tool, recorded), shape_of(tool, current)
    if before.rigid != after.rigid:
        return 0.0
    return min((fuzz.ratio(one, two) / 100 for one, two in zip(before.texts, after.texts, strict=True)), default=1.0)


def most_alike(texts: str, candidates: Sequence[str], threshold: float) -> tuple[str, float] | None:
    """The most similar of calls that agree in all that must be equal, each by its free texts, one a line."""
    if "\n" not in texts:
        # One pass that ends a comparison as soon as it cannot win: most calls have one free text or none.
        found = process.extractOne(texts, candidates, scorer=fuzz.ratio, score_cutoff=threshold * 100)
        return None if found is None else (found[0], found[1] / 100)
    lines = {place: candidate.split("\n") for place, candidate in enumerate(candidates)}
    scores = _alike(texts.split("\n"), lines, threshold)
    best = max(scores, key=scores.__getitem__, default=None)
    return None if best is None else (candidates[best], scores[best])


def nearest_marks(mark: str, candidates: Sequence[str]) -> list[str]:
    """The marks of long texts that may be alike, the most promising first."""
    different = list(dict.fromkeys(candidates))
    found = process.extract(mark, different, scorer=Hamming.similarity, score_cutoff=_IN_COMMON, limit=_LOOKED_AT)
    return [one for one, *_ in found]


def _alike(texts: Sequence[str], candidates: Mapping[Call, Sequence[str]], threshold: float) -> dict[Call, float]:
    """The candidates that are similar enough in every text, with the similarity of the least similar one, in order."""
    scores: dict[Call, float] = dict.fromkeys(candidates, 1.0)
    for position, text in enumerate(texts):
        scores = _narrowed(scores, candidates, position, text, threshold)
    return scores


def _narrowed(
    scores: dict[Call, float], candidates: Mapping[Call, Sequence[str]], position: int, text: str, threshold: float
) -> dict[Call, float]:
    choices = {call: candidates[call][position] for call in scores}
    found = process.extract(text, choices, scorer=fuzz.ratio, score_cutoff=threshold * 100, limit=None)
    kept = {call: value / 100 for _, value, call in found}
    # In the order of recording, so that the earliest of equals wins.
    return {call: min(score, kept[call]) for call, score in scores.items() if call in kept}
