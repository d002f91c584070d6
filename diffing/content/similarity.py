"""How alike two texts are, and by which method that was found.

Identical texts are 1.0 and a text against nothing is 0.0. Between them stand the embeddings where the extra
is installed, else the difflib ratio, else the overlap of words where the texts are too long to match
character by character or say the same in another order.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple, Protocol

from rapidfuzz.distance import LCSseq

from diffing.content import embeddings
from diffing.sequences.text_diff import normalise, words
from traces.core.canonical import digest

_MATCHED: Final = 4_000_000  # product of lengths that difflib may match: 50 ms at most
_LONG: Final = 80  # characters; shorter texts are never called reordered

Pair = tuple[str, str]


class Likeness(NamedTuple):
    """A similarity from 0 to 1 and the method that gave it."""

    score: float
    method: str


class Measure(Protocol):
    """Compares texts; several at once, because embedding is quickest in batches."""

    name: str

    def compare(self, pairs: Sequence[Pair]) -> list[Likeness]: ...


class Memory(Protocol):
    """Cosines that were computed before, by the key of their pair of texts."""

    def load(self, keys: Sequence[str]) -> Mapping[str, float]: ...

    def save(self, cosines: Mapping[str, float]) -> None: ...


class Lexical:
    """Without the extra. `budget` bounds the characters matched by difflib over the life of one report."""

    name = "difflib"

    def __init__(self, budget: int = 20_000_000) -> None:
        self._budget = budget

    def compare(self, pairs: Sequence[Pair]) -> list[Likeness]:
        return [self._one(normalise(base), normalise(candidate)) for base, candidate in pairs]

    def _one(self, base: str, candidate: str) -> Likeness:
        known = settled(base, candidate)
        if known:
            return known
        cost = len(base) * len(candidate)
        overlap = Likeness(word_overlap(base, candidate), "jaccard")
        if cost > min(_MATCHED, self._budget):
            return overlap
        self._budget -= cost
        matched = Likeness(_ratio(base, candidate), "difflib")
        better = min(len(base), len(candidate)) >= _LONG and overlap.score > matched.score
        return overlap if better and reordered(base, candidate) else matched


class Embedded:
    """With the extra: cosine of sentence embeddings; a pair that `memory` knows is not embedded again."""

    name = "embeddings"

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def compare(self, pairs: Sequence[Pair]) -> list[Likeness]:
        texts = [(normalise(base), normalise(candidate)) for base, candidate in pairs]
        known = [settled(base, candidate) for base, candidate in texts]
        keys = {pair: _pair_key(pair) for pair, likeness in zip(texts, known, strict=True) if likeness is None}
        cosines = self._cosines(keys)
        return [
            likeness or Likeness(cosines[keys[pair]], "embeddings") for pair, likeness in zip(texts, known, strict=True)
        ]

    def _cosines(self, keys: Mapping[Pair, str]) -> dict[str, float]:
        """The cosine of each pair by its key; new ones are remembered."""
        cosines = dict(self._memory.load(list(keys.values())))
        unknown = {key: pair for pair, key in keys.items() if key not in cosines}
        vectors = embeddings.encode(sorted({text for pair in unknown.values() for text in pair}))
        found = {key: embeddings.cosine(vectors[one], vectors[other]) for key, (one, other) in unknown.items()}
        self._memory.save(found)
        return {**cosines, **found}


def measure(*, lexical: bool, memory: Memory) -> Measure:
    """The best measure there is, or the one without embeddings."""
    return Lexical() if lexical or not embeddings.installed() else Embedded(memory)


def settled(base: str, candidate: str) -> Likeness | None:
    """The answer where no method is needed."""
    if base == candidate:
        return Likeness(1.0, "identical")
    return Likeness(0.0, "empty") if not base or not candidate else None


def _ratio(one: str, other: str) -> float:
    """In one order of the two, whichever is the base: difflib's ratio depends on it."""
    return SequenceMatcher(None, min(one, other), max(one, other), autojunk=False).ratio()


def _pair_key(pair: Pair) -> str:
    """The same for both orders of two texts, because the cosine is."""
    return digest([embeddings.MODEL, *sorted(pair)])


def word_overlap(base: str, candidate: str) -> float:
    """Jaccard on the sets of words."""
    left, right = set(words(base)), set(words(candidate))
    return len(left & right) / len(left | right) if left | right else 0.0


def reordered(base: str, candidate: str) -> bool:
    """Whether words that both texts have stand in another order: one that was put in or taken out moves none."""
    left, right = words(base), words(candidate)
    return LCSseq.similarity(left, right) < (Counter(left) & Counter(right)).total()


def reading(score: float) -> str:
    """The Prela document's words for a similarity."""
    if score > 0.9:
        return "nearly identical"
    if score >= 0.7:
        return "similar"
    return "related but divergent" if score >= 0.5 else "significantly different"
