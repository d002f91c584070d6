from datetime import datetime

import pytest

from forkpoint.bootstrap.server_clock import ServerClock

TIME = "2026-03-01T12:00:00+00:00"
TIME_S = datetime.fromisoformat(TIME).timestamp()


@pytest.mark.parametrize(("before_s", "after_s"), [(0, 0), (0.01, 0.02), (30, 0.1), (0, 30)])
def test_slow_answer_is_no_difference(before_s: float, after_s: float) -> None:
    clock = ServerClock.read(TIME, TIME_S - before_s, TIME_S + after_s)
    assert clock.local_seconds(TIME) == TIME_S


@pytest.mark.parametrize("ahead_s", [-3600, -2, 2, 86_400])
def test_other_clock_is_in_the_middle(ahead_s: float) -> None:
    clock = ServerClock.read(TIME, TIME_S + ahead_s - 0.25, TIME_S + ahead_s + 0.75)
    assert clock.ahead_s == pytest.approx(ahead_s + 0.25)
    assert clock.local_seconds(TIME) == pytest.approx(TIME_S + ahead_s + 0.25)
