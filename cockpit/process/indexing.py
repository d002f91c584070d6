"""The thread that makes sealed runs searchable by their payloads, and merges usage totals."""

import time

from cockpit.process.worker_threads import ThreadStep, WorkerThread
from traces.recordings import assembler
from traces.search import indexer
from traces.totals import usage_totals

_POLL_S = 1.0
# Recording goes first, but search must not fall behind for good: then indexing takes a fifth of the time.
_PATIENCE_S = 10.0
_SHARE = 0.2
_AFTER_ERROR_S = 5.0


class IndexerThread(WorkerThread):
    """Indexes runs until it is stopped. Any number of them may run at once."""

    def __init__(self) -> None:
        super().__init__("indexer", first_pause_s=_POLL_S, after_error_s=_AFTER_ERROR_S)
        self._has_new_totals = True

    def work(self) -> float:
        """Index a batch when nothing is left to record."""
        is_busy = self._wait_for_assembler()
        start = time.monotonic()
        if indexer.work():
            self._has_new_totals = True
            return (time.monotonic() - start) / _SHARE if is_busy else 0.0
        # One day at a time, so that recordings do not wait.
        self._has_new_totals = self._has_new_totals and usage_totals.merge()
        return 0.0 if self._has_new_totals else _POLL_S

    def _wait_for_assembler(self) -> bool:
        """Wait while recordings are due, up to a limit; return whether they still are."""
        end = time.monotonic() + _PATIENCE_S
        while is_busy := assembler.is_busy():
            if time.monotonic() > end or self.stop_event.wait(_POLL_S / 4):
                break
        return is_busy


class Indexing(ThreadStep):
    """Runs the indexer in the main process of a Celery worker."""

    thread_type = IndexerThread
