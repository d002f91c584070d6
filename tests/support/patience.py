"""Waits whose limits grow with the machine's load, so that a busy machine fails no test."""

import os
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

_SHORTEST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.3
T = TypeVar("T")


def patience_s(quiet_s: float) -> float:
    """Return the current limit for something that takes at most `quiet_s` seconds on an idle core.

    At least four times as long: the load average lags behind the load by a minute, and does not tell of a slow machine.
    """
    return quiet_s * max(4.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def patience_ms(quiet_ms: float) -> float:
    """Return `patience_s` in milliseconds, the unit of the browser's driver."""
    return 1000 * patience_s(quiet_ms / 1000)


def pause_s(elapsed_s: float) -> float:
    """Return how long to wait for the next check: the longer it took, the longer. A check often asks a server."""
    return min(_LONGEST_PAUSE_S, max(_SHORTEST_PAUSE_S, elapsed_s / 5))


def wait_until(check: Callable[[], T | None], quiet_s: float, problem: Callable[[], str] = lambda: "") -> T:
    """Call `check` until it returns a true value, and return it.

    Raises AssertionError with `problem()` at the limit. The limit is computed at every check, because the load changes.
    """
    start = time.monotonic()
    while not (result := check()):
        elapsed_s = time.monotonic() - start
        if elapsed_s > patience_s(quiet_s):
            raise AssertionError(f"no result after {elapsed_s:.0f} s. {problem()}")
        time.sleep(pause_s(elapsed_s))
    return result


def join(thread: threading.Thread, quiet_s: float) -> None:
    """Wait for the end of a thread; raises AssertionError at the limit."""
    wait_until(lambda: not thread.is_alive(), quiet_s, lambda: f"{thread.name} is still at work")
