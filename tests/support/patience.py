"""Waits whose limits grow with the load of the machine: what is late on a busy machine is not broken."""

import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

POLL_S: Final = 0.05
T = TypeVar("T")


def patience_s(quiet_s: float) -> float:
    """Return how long to wait now for what takes at most `quiet_s` seconds on a machine with a core to spare."""
    return quiet_s * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def patience_ms(quiet_ms: float) -> float:
    """Return `patience_s` in milliseconds, the unit of the browser's driver."""
    return 1000 * patience_s(quiet_ms / 1000)


def wait_until(look: Callable[[], T | None], quiet_s: float, problem: Callable[[], str] = lambda: "") -> T:
    """Call `look` until it returns something true, and return that.

    Raises AssertionError with `problem()` when it takes too long. The limit is computed on every look,
    because the load average lags behind the load.
    """
    started = time.monotonic()
    while not (result := look()):
        waited = time.monotonic() - started
        if waited > patience_s(quiet_s):
            raise AssertionError(f"not there after {waited:.0f} s. {problem()}")
        time.sleep(POLL_S)
    return result
