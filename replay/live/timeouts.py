"""Waiting for work that blocks, with a limit, and ready to stop."""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

_Result = TypeVar("_Result")
_LOOK_S: Final = 0.1


class GivenUp(Exception):
    """Nobody waits for the work any more; its thread ends when it does."""


def run_with_timeout(seconds: float, work: Callable[[], _Result], *, is_cancelled: Callable[[], bool]) -> _Result:
    """What `work` returns or raises; `TimeoutError` after `seconds`, `GivenUp` when `is_cancelled` says so.

    The work goes on in its thread, so it has to be something that may run unheeded.
    """
    done: queue.SimpleQueue[tuple[_Result | None, BaseException | None]] = queue.SimpleQueue()
    threading.Thread(target=_run, args=(work, done), name="forkpoint-call", daemon=True).start()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            result, error = done.get(timeout=min(left, _LOOK_S))
        except queue.Empty:
            if is_cancelled():
                raise GivenUp from None
            continue
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # without an error there is a result
    raise TimeoutError


def await_future(future: "Future[_Result]", seconds: float, *, is_cancelled: Callable[[], bool]) -> _Result:
    """What the future comes to; `TimeoutError` after `seconds`, `GivenUp` when `is_cancelled` says so."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if wait([future], timeout=min(left, _LOOK_S)).done:
            return future.result()
        if is_cancelled():
            raise GivenUp
    raise TimeoutError


def _run(work: Callable[[], _Result], done: "queue.SimpleQueue[tuple[_Result | None, BaseException | None]]") -> None:
    try:
        done.put((work(), None))
    except BaseException as error:  # noqa: BLE001  # handed to whoever waits
        done.put((None, error))
