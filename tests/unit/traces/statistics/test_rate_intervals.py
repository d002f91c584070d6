"""Intervals of pass rates."""

import pytest
from scipy import stats

from traces.statistics.rate_intervals import wilson


def test_interval_agrees_with_scipy() -> None:
    for n in (1, 2, 3, 4, 7, 10, 25, 60, 100, 400):
        for hits in range(n + 1):
            expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
            assert wilson(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-9)
            assert wilson(hits, n)[0] <= hits / n <= wilson(hits, n)[1]


def test_no_runs_leave_every_rate_possible() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
