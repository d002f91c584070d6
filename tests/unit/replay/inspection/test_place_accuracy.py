"""Measured accuracy of places."""

import pytest
from scipy import stats

from replay.inspection.core.place_accuracy import wilson


def test_interval_agrees_with_scipy() -> None:
    for n in (1, 3, 10, 60, 400):
        for hits in range(n + 1):
            expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
            assert wilson(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-7)
