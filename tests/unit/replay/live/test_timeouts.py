"""Waiting for blocking work until it ends, times out or is cancelled."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count

import pytest

from replay.live.timeouts import GivenUp, await_future, run_with_timeout


def after(looks: int) -> Callable[[], bool]:
    """Return a callback that is true after this many calls."""
    calls = count(1)
    return lambda: next(calls) > looks


def test_endless_work_times_out() -> None:
    endless = threading.Event()
    with pytest.raises(TimeoutError):
        run_with_timeout(0.05, endless.wait, is_cancelled=after(20))
    endless.set()
    with pytest.raises(TimeoutError):
        await_future(Future[int](), 0.05, is_cancelled=after(20))


def test_cancelled_wait_raises_given_up() -> None:
    endless = threading.Event()
    with pytest.raises(GivenUp):
        run_with_timeout(60, endless.wait, is_cancelled=after(0))
    endless.set()
    with pytest.raises(GivenUp):
        await_future(Future[int](), 60, is_cancelled=after(0))


def test_result_and_error_are_passed_on() -> None:
    future = Future[int]()
    future.set_result(3)
    assert (
        run_with_timeout(60, lambda: 3, is_cancelled=after(0)),
        await_future(future, 60, is_cancelled=after(0)),
    ) == (
        3,
        3,
    )
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(60, lambda: 1 // 0, is_cancelled=after(0))
