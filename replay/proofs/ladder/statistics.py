"""Exact tests of whether chance alone explains a difference, on unchanged repeats of both sides. Pure.

The pair of runs that raised the question is never part of a test: it was chosen because it differs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import product
from math import comb, prod
from typing import Final

from diffing.schemas.evidence import ProbeOutcome
from traces.statistics.rate_intervals import wilson

# With three repeats on each side, no result could be significant at 0.05.
FIRST: Final = 4
ALPHA: Final = 0.05
STRICT: Final = 0.01
# The test is evaluated after every pair of repeats from the fourth on. On so few repeats, Fisher's test is so
# conservative that the error of all evaluations together stays under ALPHA, whatever the rate of chance; a unit test
# computes it.
# From this number of repeats on, a p over _EVEN ends the test.
_HOPELESS: Final = 6
_EVEN: Final = 0.5


class Decision(StrEnum):
    """Whether chance is rejected as the explanation, and whether to draw more repeats."""

    REJECT = "reject"
    RETAIN = "retain"
    CONTINUE = "continue"


def decide(base: Sequence[str], candidate: Sequence[str], *, most: int, target: float = STRICT) -> Decision:
    """Decide from the outcomes of both sides so far; `target` is the p to reach while repeats are left."""
    least = min(len(base), len(candidate))
    if least < FIRST:
        return Decision.CONTINUE
    p = effect_p(base, candidate)
    if p < target or (p < ALPHA and least >= most):
        return Decision.REJECT
    if least >= most or (least >= _HOPELESS and p > _EVEN) or not _can_reject(base, candidate, most):
        return Decision.RETAIN
    return Decision.CONTINUE


def effect_p(base: Sequence[str], candidate: Sequence[str]) -> float:
    """The p of the exact test; 1 if more repeats match the other side's recording than their own."""
    agreements = base.count("base") + candidate.count("candidate")
    swaps = base.count("candidate") + candidate.count("base")
    return 1.0 if swaps > agreements else exact_p(base, candidate)


def exact_p(first: Sequence[str], second: Sequence[str]) -> float:
    """Two-sided exact test that both sides draw from one mixture of outcomes (Fisher; Freeman-Halton beyond two).

    The probability, given the totals, of a table that is at most as likely as the observed one.
    """
    counts = Counter(first), Counter(second)
    kinds = sorted(counts[0] | counts[1])
    totals = [counts[0][kind] + counts[1][kind] for kind in kinds]
    all_ways = comb(len(first) + len(second), len(first))
    observed_ways = prod(comb(total, counts[0][kind]) for kind, total in zip(kinds, totals, strict=True))
    table_ways = (prod(map(comb, totals, row)) for row in _rows(totals, len(first)))
    return min(1.0, sum(ways for ways in table_ways if ways <= observed_ways) / all_ways)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm-adjusted p values, in the given order."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    adjusted_ps = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, ps[index] * (len(ps) - rank)))
        adjusted_ps[index] = highest
    return adjusted_ps


def clopper_pearson(hits: int, n: int) -> tuple[float, float]:
    """The conservative 95 % interval of a rate (Clopper and Pearson)."""
    if n == 0:
        return 0.0, 1.0
    low = 0.0 if hits == 0 else _root(lambda p: sum(_binomial(k, n, p) for k in range(hits, n + 1)) - 0.025)
    high = 1.0 if hits == n else _root(lambda p: 0.025 - sum(_binomial(k, n, p) for k in range(hits + 1)))
    return low, high


def apart(base: Sequence[str], candidate: Sequence[str]) -> bool:
    """True if the candidate's outcome is more frequent on its side than repeats of the base can explain."""
    band = wilson(sum(outcome == ProbeOutcome.CANDIDATE for outcome in base), len(base))
    effect = wilson(sum(outcome == ProbeOutcome.CANDIDATE for outcome in candidate), len(candidate))
    return effect[0] > band[1]


def _rows(totals: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Every split of the totals that gives one side this size."""
    for head in product(*(range(total + 1) for total in totals[:-1])):
        rest = size - sum(head)
        if 0 <= rest <= (totals[-1] if totals else 0):
            yield (*head, rest)


def _can_reject(base: Sequence[str], candidate: Sequence[str], most: int) -> bool:
    """True if the clearest possible outcome of the remaining repeats would be significant."""
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
