"""Whether chance alone explains a difference: both sides repeated unchanged, and exact tests on what came out. Pure.

The pair of runs that made somebody look is never part of a test: it was chosen because it differs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import comb, prod, sqrt
from typing import Final, Literal

FIRST: Final = 4  # with three on each side no result at all could be significant at 0.05
ALPHA: Final = 0.05
STRICT: Final = 0.01
# The test is looked at after every pair of repeats from the fourth on. Fisher's test is so conservative on these few
# that the error of all looks together stays under ALPHA, whatever the rate of chance is; a test computes it.
_HOPELESS: Final = 6  # from here on a p over _EVEN ends it
_EVEN: Final = 0.5
_Z: Final = 1.959963984540054
Decision = Literal["rejected", "not_rejected", "go_on"]


def decide(base: Sequence[str], candidate: Sequence[str], *, most: int, wanted: float = STRICT) -> Decision:
    """What the outcomes of both sides say so far; `wanted` is how sure it should get while repeats are left."""
    least = min(len(base), len(candidate))
    if least < FIRST:
        return "go_on"
    p = effect_p(base, candidate)
    if p < wanted or (p < ALPHA and least >= most):
        return "rejected"
    hopeless = least >= _HOPELESS and p > _EVEN
    return "not_rejected" if least >= most or hopeless or not _can_reject(base, candidate, most) else "go_on"


def effect_p(base: Sequence[str], candidate: Sequence[str]) -> float:
    """The p of the exact test; 1 where repeats come out as the other side was recorded rather than as their own."""
    same = base.count("base") + candidate.count("candidate")
    swapped = base.count("candidate") + candidate.count("base")
    return 1.0 if swapped > same else exact_p(base, candidate)


def exact_p(one: Sequence[str], other: Sequence[str]) -> float:
    """Two-sided exact test that both sides come from the same mixture of outcomes (Fisher; Freeman-Halton beyond two).

    The probability, with the totals as they are, of a table that is no more likely than this one.
    """
    counts = Counter(one), Counter(other)
    kinds = sorted(counts[0] | counts[1])
    totals = [counts[0][kind] + counts[1][kind] for kind in kinds]
    all_ways = comb(len(one) + len(other), len(one))
    here = prod(comb(total, counts[0][kind]) for kind, total in zip(kinds, totals, strict=True))
    ways = (prod(map(comb, totals, row)) for row in _rows(totals, len(one)))
    return min(1.0, sum(way for way in ways if way <= here) / all_ways)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values adjusted for being several (Holm), in their order."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, ps[at] * (len(ps) - rank)))
        adjusted[at] = highest
    return adjusted


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate (Wilson)."""
    if n == 0:
        return 0.0, 1.0
    rate, square = hits / n, _Z * _Z
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = _Z * sqrt(rate * (1 - rate) / n + square / (4 * n * n)) / (1 + square / n)
    return 0.0 if hits == 0 else middle - half, 1.0 if hits == n else middle + half


def clopper_pearson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate that is never too short (Clopper and Pearson)."""
    if n == 0:
        return 0.0, 1.0
    low = 0.0 if hits == 0 else _root(lambda p: sum(_binomial(k, n, p) for k in range(hits, n + 1)) - 0.025)
    high = 1.0 if hits == n else _root(lambda p: 0.025 - sum(_binomial(k, n, p) for k in range(hits + 1)))
    return low, high


def apart(base: Sequence[str], candidate: Sequence[str]) -> bool:
    """Whether the candidate's outcome is more frequent on its side beyond what repeats of the base show."""
    band = wilson(sum(outcome == "candidate" for outcome in base), len(base))
    effect = wilson(sum(outcome == "candidate" for outcome in candidate), len(candidate))
    return effect[0] > band[1]


def _rows(totals: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Every way in which one side of that size can share in the totals."""
    for head in product(*(range(total + 1) for total in totals[:-1])):
        rest = size - sum(head)
        if 0 <= rest <= (totals[-1] if totals else 0):
            yield (*head, rest)


def _can_reject(base: Sequence[str], candidate: Sequence[str], most: int) -> bool:
    """Whether the clearest outcome of all repeats that are left would still be significant."""
    best_base = [*base, *["base"] * (most - len(base))]
    best_candidate = [*candidate, *["candidate"] * (most - len(candidate))]
    return exact_p(best_base, best_candidate) < ALPHA


def _binomial(hits: int, n: int, p: float) -> float:
    return comb(n, hits) * p**hits * (1 - p) ** (n - hits)


def _root(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
