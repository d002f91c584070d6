"""The thread that turns arriving segments into runs, and seals them."""

import threading

import structlog
from django.conf import settings
from django.db import Error, connection

from cockpit.process.worker_threads import ThreadStep
from traces.recordings import assembler, wake_up

log = structlog.get_logger("cockpit.process.assembly")
# Segments that other processes accept are found by polling.
_POLL_S = 0.25
_LONGEST_PAUSE_S = 5.0
_AFTER_ERROR_S = 1.0


class AssemblerThread(threading.Thread):
    """Assembles and seals recordings until it is stopped. Any number of them may run at once."""

    def __init__(self) -> None:
        super().__init__(name="assembler", daemon=True)
        self._stop_event = threading.Event()

    def run(self) -> None:
        while not self._stop_event.is_set():
            wake_up.wait(self._work())

    def stop(self) -> None:
        self._stop_event.set()
        wake_up.signal()
        self.join()

    def _work(self) -> float:
        """Handle all recordings that are due; return the seconds to wait for the next one."""
        try:
            while assembler.work():
                if self._stop_event.is_set():
                    return 0.0
            return assembler.pause_s(_LONGEST_PAUSE_S if settings.EMBEDDED else _POLL_S)
        except (Error, OSError) as error:
            log.warning("assembler_waits", error=str(error).partition("\n")[0])
        except Exception as error:  # noqa: BLE001  # the thread must survive
            log.error("assembler_failed", exc_info=error)
        finally:
            connection.close()
        return _AFTER_ERROR_S


class Assembly(ThreadStep):
    """Runs the assembler in the main process of a Celery worker."""

    thread_type = AssemblerThread
