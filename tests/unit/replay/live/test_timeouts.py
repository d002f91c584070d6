"""Waiting for work that blocks: it ends with the work, with its time, or when nobody wants it any more."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count

import pytest

from replay.live.timeouts import GivenUp, await_future, run_with_timeout


def after(looks: int) -> Callable[[], bool]:
    """Says to stop after so many looks."""
    seen = count(1)
    return lambda: next(seen) > looks


def test_work_that_does_not_end_is_left_after_its_time() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError):
        run_with_timeout(0.05, never.wait, is_cancelled=after(20))
    never.set()
    with pytest.raises(TimeoutError):
        await_future(Future[int](), 0.05, is_cancelled=after(20))


def test_work_that_nobody_wants_any_more_is_left_at_once() -> None:
    never = threading.Event()
    with pytest.raises(GivenUp):
        run_with_timeout(60, never.wait, is_cancelled=after(0))
    never.set()
    with pytest.raises(GivenUp):
        await_future(Future[int](), 60, is_cancelled=after(0))


def test_what_the_work_comes_to_is_handed_on() -> None:
    done = Future[int]()
    done.set_result(3)
    assert (run_with_timeout(60, lambda: 3, is_cancelled=after(0)), await_future(done, 60, is_cancelled=after(0))) == (
        3,
        3,
    )
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(60, lambda: 1 // 0, is_cancelled=after(0))
