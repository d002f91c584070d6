"""Slots for large imports: one at a time per process, so that their memory does not add up."""

from threading import BoundedSemaphore
from typing import Final

from traces.http.throttling import TooManyRequests

_RETRY_S: Final = 30


class Slot:
    """One import at a time; a few more wait briefly, the rest are rejected."""

    def __init__(self, *, waiting: int, patience_s: float) -> None:
        self._running = BoundedSemaphore()
        self._queue = BoundedSemaphore(1 + waiting)
        self._patience_s = patience_s

    def acquire(self) -> None:
        """Wait for the slot; raise `TooManyRequests` if it stays occupied."""
        if not self._queue.acquire(blocking=False):
            raise self._refusal()
        if not self._running.acquire(timeout=self._patience_s):
            self._queue.release()
            raise self._refusal()

    def release(self) -> None:
        """Free the slot, from any thread."""
        self._running.release()
        self._queue.release()

    def _refusal(self) -> TooManyRequests:
        return TooManyRequests("another large import is running; try again once it has finished", wait=_RETRY_S)


# Each waiting import blocks one of the eight request threads.
LARGE_IMPORTS: Final = Slot(waiting=2, patience_s=10)
