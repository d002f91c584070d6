"""Soak tests are judged after their warm-up, by medians."""

import pytest

from tests.bench.soak.verdict import Sample, judge, warm_up_of


def samples(memory_mb: list[float], *, descriptors: int = 50, latency_ms: float = 20.0) -> list[Sample]:
    return [
        Sample(at_s=10.0 * number, memory_mb=memory, descriptors=descriptors, latencies_ms=(latency_ms,))
        for number, memory in enumerate(memory_mb)
    ]


def passed(given: list[Sample], warm_up_s: float = 100.0) -> dict[str, bool]:
    return {finding.measure: finding.is_within_limit for finding in judge(given, warm_up_s)}


def test_growth_in_warm_up_is_no_leak() -> None:
    assert all(passed(samples([*range(100, 200, 10), *[200.0] * 30])).values())


def test_steady_growth_is_a_leak() -> None:
    assert not passed(samples([*[200.0] * 10, *(200 + 2.0 * number for number in range(30))]))["memory, MB"]


def test_single_peak_is_no_leak() -> None:
    memory = [200.0] * 40
    memory[35] = 900.0
    assert passed(samples(memory))["memory, MB"]


def test_open_descriptors_must_not_pile_up() -> None:
    assert not passed([*samples([200.0] * 30), *samples([200.0] * 60, descriptors=80)[30:]])["descriptors"]


def test_slow_requests_at_end_fail() -> None:
    assert not passed([*samples([200.0] * 30), *samples([200.0] * 60, latency_ms=200)[30:]])["p95 of a request, ms"]


def test_too_short_test_is_not_judged() -> None:
    with pytest.raises(ValueError, match="at least 6"):
        judge(samples([200.0] * 12), 100.0)


def test_warm_up_is_ten_minutes_at_most() -> None:
    assert (warm_up_of(3600.0), warm_up_of(480.0)) == (600.0, 120.0)
