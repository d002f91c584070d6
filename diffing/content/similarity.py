"""Similarity of two texts, and the method that measured it.

Identical texts have 1.0, and a text and an empty one 0.0. Other pairs are measured by sentence embeddings if the extra
is installed, else by the difflib ratio. Texts that are too long or too repetitive for difflib, or that have the same
words in another order, are measured by word overlap.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import Final, NamedTuple, Protocol

from rapidfuzz.distance import LCSseq

from diffing.content import embeddings
from diffing.sequences.text_diff import normalise, words
from traces.core.canonical import digest

# Product of the lengths that difflib may match: 50 ms for prose.
_MAX_PRODUCT: Final = 4_000_000
# Comparisons of equal characters: 250 ms. The longest prose needs a third of them.
_MAX_COMPARISONS: Final = 5_000_000
# For one report, per unit of its budget: prose needs a quarter of one.
_COMPARISONS_PER_UNIT: Final = 2
# Characters; shorter texts never count as reordered.
_MIN_REORDERED: Final = 80

Pair = tuple[str, str]


class Likeness(NamedTuple):
    """A similarity from 0 to 1 and the method that gave it."""

    score: float
    method: str


class Measure(Protocol):
    """A way to compare texts, many at once, because embedding is fastest in batches."""

    name: str

    def compare(self, pairs: Sequence[Pair]) -> list[Likeness]: ...


class Memory(Protocol):
    """A store of computed cosines, by the key of their pair of texts."""

    def load(self, keys: Sequence[str]) -> Mapping[str, float]: ...

    def save(self, cosines: Mapping[str, float]) -> None: ...


class Lexical:
    """Measure without embeddings. `budget` limits the characters that difflib matches for one report."""

    name = "difflib"

    def __init__(self, budget: int = 20_000_000) -> None:
        self._budget = budget
        self._comparisons = _COMPARISONS_PER_UNIT * budget

    def compare(self, pairs: Sequence[Pair]) -> list[Likeness]:
        return [self._compare(normalise(base), normalise(candidate)) for base, candidate in pairs]

    def _compare(self, base: str, candidate: str) -> Likeness:
        trivial = trivial_likeness(base, candidate)
        if trivial:
            return trivial
        cost = len(base) * len(candidate)
        overlap = Likeness(word_overlap(base, candidate), "jaccard")
        if cost > min(_MAX_PRODUCT, self._budget):
            return overlap
        self._budget -= cost
        matcher = _Matcher(base, candidate, min(_MAX_COMPARISONS, self._comparisons))
        try:
            sequence_match = Likeness(matcher.ratio(), "difflib")
        except _TooRepetitive:
            return overlap
        finally:
            self._comparisons -= matcher.comparisons
        better = min(len(base), len(candidate)) >= _MIN_REORDERED and overlap.score > sequence_match.score
        return overlap if better and is_reordered(base, candidate) else sequence_match


class EmbeddingMeasure:
    """Measure by the cosine of sentence embeddings; pairs in `memory` are not embedded again."""

    name = "embeddings"

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def compare(self, pairs: Sequence[Pair]) -> list[Likeness]:
        texts = [(normalise(base), normalise(candidate)) for base, candidate in pairs]
        trivial = [trivial_likeness(base, candidate) for base, candidate in texts]
        keys = {pair: _pair_key(pair) for pair, likeness in zip(texts, trivial, strict=True) if likeness is None}
        cosines = self._cosines(keys)
        return [
            likeness or Likeness(cosines[keys[pair]], "embeddings")
            for pair, likeness in zip(texts, trivial, strict=True)
        ]

    def _cosines(self, keys: Mapping[Pair, str]) -> dict[str, float]:
        """The cosine of each pair by its key; new ones are saved."""
        cosines = dict(self._memory.load(list(keys.values())))
        unknown = {key: pair for pair, key in keys.items() if key not in cosines}
        vectors = embeddings.encode(sorted({text for pair in unknown.values() for text in pair}))
        new_cosines = {key: embeddings.cosine(vectors[left], vectors[right]) for key, (left, right) in unknown.items()}
        self._memory.save(new_cosines)
        return {**cosines, **new_cosines}


def measure(*, lexical: bool, memory: Memory) -> Measure:
    """The best available measure; `lexical`: the one without embeddings."""
    return Lexical() if lexical or not embeddings.is_installed() else EmbeddingMeasure(memory)


def trivial_likeness(base: str, candidate: str) -> Likeness | None:
    """The similarity of identical texts, or with an empty one; None for other pairs."""
    if base == candidate:
        return Likeness(1.0, "identical")
    return Likeness(0.0, "empty") if not base or not candidate else None


class _TooRepetitive(Exception):
    """Difflib would compare too many equal characters."""


class _Matcher(SequenceMatcher[str]):
    """Difflib, which gives up: its effort for texts that repeat themselves grows with the cube of their length.

    Always in the same order of the texts, because the ratio depends on it.
    """

    def __init__(self, left: str, right: str, limit: int) -> None:
        first, second = min(left, right), max(left, right)
        super().__init__(None, first, second, autojunk=False)
        occurrences = Counter(second)
        self._limit = limit
        # Up to each character of the first text, how often it and those before it occur in the second one.
        self._equal = [0, *accumulate(occurrences[character] for character in first)]
        self.comparisons = 0

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        self.comparisons += self._equal[-1 if ahi is None else ahi] - self._equal[alo]
        if self.comparisons > self._limit:
            raise _TooRepetitive
        return super().find_longest_match(alo, ahi, blo, bhi)


def _pair_key(pair: Pair) -> str:
    """The key of a pair, the same for both orders, like the cosine."""
    return digest([embeddings.MODEL, *sorted(pair)])


def word_overlap(base: str, candidate: str) -> float:
    """Jaccard similarity of the sets of words."""
    left, right = _vocabulary(base), _vocabulary(candidate)
    return len(left & right) / len(left | right) if left | right else 0.0


def _vocabulary(text: str) -> set[str]:
    # Long texts repeat their words, and splitting at spaces is faster than searching for words.
    return set(words(" ".join({*text.split()})))


def is_reordered(base: str, candidate: str) -> bool:
    """True if common words occur in another order; insertions and removals alone do not reorder words."""
    left, right = words(base), words(candidate)
    return LCSseq.similarity(left, right) < (Counter(left) & Counter(right)).total()


def reading(score: float) -> str:
    """A similarity in words, as the Prela document has them."""
    if score > 0.9:
        return "nearly identical"
    if score >= 0.7:
        return "similar"
    return "related but divergent" if score >= 0.5 else "significantly different"
