"""The thread that removes deleted runs when their time has come, and applies the retention policies daily."""

import threading
from typing import Final

import structlog
from django.db import Error, connection

from cockpit.process.worker_threads import ThreadStep
from traces.errors import ProblemError
from traces.retention import purge
from traces.storage import artifact_files

log = structlog.get_logger("cockpit.process.purging")
_PAUSE_S: Final = 60.0


class PurgeThread(threading.Thread):
    """Purges until it is stopped. Several processes may purge at once: each step is done by one of them."""

    def __init__(self) -> None:
        super().__init__(name="purge", daemon=True)
        self._stop_event = threading.Event()

    def run(self) -> None:
        while not self._stop_event.wait(_PAUSE_S):
            self._work()

    def stop(self) -> None:
        self._stop_event.set()
        self.join()

    def _work(self) -> None:
        try:
            work()
        except (Error, OSError, ProblemError) as error:
            log.warning("purge_waits", error=str(error).partition("\n")[0])
        except Exception as error:  # noqa: BLE001  # the thread must survive
            log.error("purge_failed", exc_info=error)
        finally:
            connection.close()


class Purging(ThreadStep):
    """Runs the purge in the main process of a Celery worker."""

    thread_type = PurgeThread


def work() -> None:
    """Apply the policies if a day has passed; else remove what is due."""
    artifact_files.remove_old_parts()
    if not purge.purge_daily() and purge.is_removal_due():
        purge.remove_due()
