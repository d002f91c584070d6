"""The thread that makes sealed runs searchable by their payloads, and merges usage totals."""

import threading
import time

import structlog
from django.db import Error, connection

from cockpit.process.worker_threads import ThreadStep
from traces.recordings import assembler
from traces.search import indexer
from traces.totals import usage_totals

log = structlog.get_logger("cockpit.process.indexing")
_POLL_S = 1.0
# Recording goes first, but search must not fall behind for good: then indexing takes a fifth of the time.
_PATIENCE_S = 10.0
_SHARE = 0.2
_AFTER_ERROR_S = 5.0


class IndexerThread(threading.Thread):
    """Indexes runs until it is stopped. Any number of them may run at once."""

    def __init__(self) -> None:
        super().__init__(name="indexer", daemon=True)
        self._stop_event = threading.Event()
        self._has_new_totals = True

    def run(self) -> None:
        pause = _POLL_S
        while not self._stop_event.wait(pause):
            pause = self._work()

    def stop(self) -> None:
        self._stop_event.set()
        self.join()

    def _work(self) -> float:
        """Index a batch when nothing is left to record; return the seconds to wait for the next one."""
        try:
            is_busy = self._wait_for_assembler()
            start = time.monotonic()
            if indexer.work():
                self._has_new_totals = True
                return (time.monotonic() - start) / _SHARE if is_busy else 0.0
            # One day at a time, so that recordings do not wait.
            self._has_new_totals = self._has_new_totals and usage_totals.merge()
            return 0.0 if self._has_new_totals else _POLL_S
        except (Error, OSError) as error:
            log.warning("indexer_waits", error=str(error).partition("\n")[0])
        except Exception as error:  # noqa: BLE001  # the thread must survive
            log.error("indexer_failed", exc_info=error)
        finally:
            connection.close()
        return _AFTER_ERROR_S

    def _wait_for_assembler(self) -> bool:
        """Wait while recordings are due, up to a limit; return whether they still are."""
        end = time.monotonic() + _PATIENCE_S
        while is_busy := assembler.is_busy():
            if time.monotonic() > end or self._stop_event.wait(_POLL_S / 4):
                break
        return is_busy


class Indexing(ThreadStep):
    """Runs the indexer in the main process of a Celery worker."""

    thread_type = IndexerThread
