"""Large imports: one at a time in each process, so that their memory does not add up."""

from threading import BoundedSemaphore
from typing import Final

from traces.http.throttling import TooManyRequests

_RETRY_S: Final = 30


class Slot:
    """One import at a time; a few wait for a moment, the rest are refused."""

    def __init__(self, *, waiting: int, patience_s: float) -> None:
        self._free = BoundedSemaphore()
        self._places = BoundedSemaphore(1 + waiting)
        self._patience_s = patience_s

    def acquire(self) -> None:
        """Wait for the slot; raises `TooManyRequests` where others hold it for too long."""
        if not self._places.acquire(blocking=False):
            raise self._refusal()
        if not self._free.acquire(timeout=self._patience_s):
            self._places.release()
            raise self._refusal()

    def release(self) -> None:
        """Free the slot, from whichever thread."""
        self._free.release()
        self._places.release()

    def _refusal(self) -> TooManyRequests:
        return TooManyRequests("another large import is going on: try again when it has finished", wait=_RETRY_S)


# Waiting takes one of the eight threads that answer requests: few may wait.
LARGE_IMPORTS: Final = Slot(waiting=2, patience_s=10)
