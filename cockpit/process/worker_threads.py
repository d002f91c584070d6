"""Threads that run beside a Celery worker, in its main process."""

import threading
from typing import Any, ClassVar

import structlog
from celery import bootsteps
from django.db import Error, connection

log = structlog.get_logger("cockpit.process.worker_threads")


class WorkerThread(threading.Thread):
    """Works in turns until it is stopped, whatever a turn raises. Subclasses define `work`."""

    # Something that the thread needs cannot be reached, and will be again.
    outages: ClassVar[tuple[type[Exception], ...]] = (Error, OSError)

    def __init__(self, name: str, *, first_pause_s: float, after_error_s: float) -> None:
        super().__init__(name=name, daemon=True)
        self.after_error_s = after_error_s
        self.stop_event = threading.Event()
        self._first_pause_s = first_pause_s

    def run(self) -> None:
        pause_s = self._first_pause_s
        while not self.wait(pause_s):
            pause_s = self._take_turn()

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self.stop_event.set()
        self.join()

    def wait(self, pause_s: float) -> bool:
        """Wait for the next turn; return whether the thread was stopped."""
        return self.stop_event.wait(pause_s)

    def work(self) -> float:
        """Do what is due; return the seconds to wait for the next turn."""
        raise NotImplementedError

    def _take_turn(self) -> float:
        try:
            return self.work()
        except self.outages as error:
            log.warning(f"{self.name}_waits", error=str(error).partition("\n")[0])
        except Exception as error:  # noqa: BLE001  # the thread must survive
            log.error(f"{self.name}_failed", exc_info=error)
        finally:
            connection.close()
        return self.after_error_s


class ThreadStep(bootsteps.StartStopStep):
    """Runs a thread from the start of a worker to its end. `thread_type` is the thread."""

    requires = ("celery.worker.components:Pool",)
    thread_type: ClassVar[type[Any]]

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._thread: WorkerThread | None = None

    def start(self, parent: Any) -> None:
        self._thread = self.thread_type()
        self._thread.start()

    def stop(self, parent: Any) -> None:
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    terminate = stop
