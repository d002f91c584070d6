"""Wait for blocking work, with a time limit and cancellation."""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

_Result = TypeVar("_Result")
_POLL_S: Final = 0.1


class GivenUp(Exception):
    """The wait was cancelled; the work's thread continues until the work ends."""


def run_with_timeout(seconds: float, work: Callable[[], _Result], *, is_cancelled: Callable[[], bool]) -> _Result:
    """Return or raise what `work` does.

    Raises `TimeoutError` after `seconds`, and `GivenUp` if cancelled.

    The work continues in its thread after that, so it must be harmless without a consumer.
    """
    outcomes: queue.SimpleQueue[tuple[_Result | None, BaseException | None]] = queue.SimpleQueue()
    threading.Thread(target=_run, args=(work, outcomes), name="forkpoint-call", daemon=True).start()
    deadline = time.monotonic() + seconds
    while (remaining := deadline - time.monotonic()) > 0:
        try:
            result, error = outcomes.get(timeout=min(remaining, _POLL_S))
        except queue.Empty:
            if is_cancelled():
                raise GivenUp from None
            continue
        if error is not None:
            raise error
        # Without an error there is a result.
        return result  # type: ignore[return-value]
    raise TimeoutError


def await_future(future: "Future[_Result]", seconds: float, *, is_cancelled: Callable[[], bool]) -> _Result:
    """Return the future's result; raises `TimeoutError` after `seconds`, and `GivenUp` if cancelled."""
    deadline = time.monotonic() + seconds
    while (remaining := deadline - time.monotonic()) > 0:
        if wait([future], timeout=min(remaining, _POLL_S)).done:
            return future.result()
        if is_cancelled():
            raise GivenUp
    raise TimeoutError


def _run(
    work: Callable[[], _Result], outcomes: "queue.SimpleQueue[tuple[_Result | None, BaseException | None]]"
) -> None:
    try:
        outcomes.put((work(), None))
    except BaseException as error:  # noqa: BLE001
        # Raised in the waiting thread.
        outcomes.put((None, error))
