"""The statistics agree with SciPy over a grid of values."""

from itertools import product

import pytest
from scipy import stats

from replay.proofs.ladder import statistics

OUTCOMES = ("base", "candidate", "other")


def outcomes(*counts: int) -> list[str]:
    return [name for name, count in zip(OUTCOMES, counts, strict=False) for _ in range(count)]


def test_two_outcomes_agree_with_fisher() -> None:
    for a, b, c, d in product(range(8), repeat=4):
        expected = stats.fisher_exact([[a, b], [c, d]]).pvalue
        assert statistics.exact_p(outcomes(a, b), outcomes(c, d)) == pytest.approx(expected, abs=1e-9)


def test_three_outcomes_agree_with_freeman_halton() -> None:
    for first, second in product(product(range(4), repeat=3), repeat=2):
        if not sum(first) or not sum(second):
            continue
        totals = [a + b for a, b in zip(first, second, strict=True)]
        tables = stats.random_table([sum(first), sum(second)], totals)
        rows = [row for row in product(*(range(total + 1) for total in totals)) if sum(row) == sum(first)]
        weights = [tables.pmf([row, [t - r for t, r in zip(totals, row, strict=True)]]) for row in rows]
        observed_weight = weights[rows.index(first)]
        expected = sum(weight for weight in weights if weight <= observed_weight * (1 + 1e-9))
        assert statistics.exact_p(outcomes(*first), outcomes(*second)) == pytest.approx(expected, abs=1e-9)


def test_intervals_agree_with_scipy() -> None:
    for n in (1, 2, 4, 7, 10, 25, 100):
        for hits in range(n + 1):
            expected = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
            assert statistics.clopper_pearson(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_holm_rejects_what_stepping_down_rejects() -> None:
    """SciPy has no Holm; by definition, tests are rejected while the sorted p values stay under alpha / remaining."""
    grid = (0.001, 0.01, 0.02, 0.04, 0.2)
    for ps, alpha in product(product(grid, repeat=3), (0.01, 0.05, 0.1)):
        adjusted_ps = statistics.holm(ps)
        rejecting = True
        for rank, at in enumerate(sorted(range(3), key=ps.__getitem__)):
            rejecting = rejecting and ps[at] * (3 - rank) <= alpha
            assert (adjusted_ps[at] <= alpha) is rejecting
