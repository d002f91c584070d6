"""The thread that removes deleted runs when their time has come, and applies the retention policies daily."""

from typing import Final

from cockpit.process.worker_threads import ThreadStep, WorkerThread
from traces.errors import ProblemError
from traces.retention import purge
from traces.storage import artifact_files

_PAUSE_S: Final = 60.0


class PurgeThread(WorkerThread):
    """Purges until it is stopped. Several processes may purge at once: each step is done by one of them."""

    outages = (*WorkerThread.outages, ProblemError)

    def __init__(self) -> None:
        super().__init__("purge", first_pause_s=_PAUSE_S, after_error_s=_PAUSE_S)

    def work(self) -> float:
        purge_due()
        return _PAUSE_S


class Purging(ThreadStep):
    """Runs the purge in the main process of a Celery worker."""

    thread_type = PurgeThread


def purge_due() -> None:
    """Apply the policies if a day has passed; else remove what is due."""
    artifact_files.remove_old_parts()
    if not purge.purge_daily() and purge.is_removal_due():
        purge.remove_due()
