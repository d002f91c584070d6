"""The thread that turns arriving segments into runs, and seals them."""

import time

from django.conf import settings

from cockpit.process.worker_threads import ThreadStep, WorkerThread
from traces.recordings import assembler, wake_up

# Segments that other processes accept are found by polling.
_POLL_S = 0.25
_LONGEST_PAUSE_S = 5.0
_AFTER_ERROR_S = 1.0
# Between two looks whether the clock was set back.
_CLOCK_S = 60.0


class AssemblerThread(WorkerThread):
    """Assembles and seals recordings until it is stopped. Any number of them may run at once."""

    def __init__(self) -> None:
        super().__init__("assembler", first_pause_s=0.0, after_error_s=_AFTER_ERROR_S)
        self._clock_look_at = 0.0

    def stop(self) -> None:
        self.stop_event.set()
        wake_up.signal()
        super().stop()

    def wait(self, pause_s: float) -> bool:
        wake_up.wait(pause_s)
        return self.stop_event.is_set()

    def work(self) -> float:
        """Handle all recordings that are due."""
        self._follow_clock()
        while assembler.work():
            if self.stop_event.is_set():
                return 0.0
        return assembler.pause_s(_LONGEST_PAUSE_S if settings.EMBEDDED else _POLL_S)

    def _follow_clock(self) -> None:
        if time.monotonic() >= self._clock_look_at:
            assembler.follow_clock()
            self._clock_look_at = time.monotonic() + _CLOCK_S


class Assembly(ThreadStep):
    """Runs the assembler in the main process of a Celery worker."""

    thread_type = AssemblerThread
