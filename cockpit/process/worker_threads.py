"""Threads that run beside a Celery worker, in its main process."""

from typing import Any, ClassVar, Protocol

from celery import bootsteps


class StoppableThread(Protocol):
    """A thread that ends when it is told to."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """End the thread, and wait for it."""


class ThreadStep(bootsteps.StartStopStep):
    """Runs a thread from the start of a worker to its end. `thread_type` is the thread."""

    requires = ("celery.worker.components:Pool",)
    thread_type: ClassVar[type[StoppableThread]]

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._thread: StoppableThread | None = None

    def start(self, parent: Any) -> None:
        self._thread = self.thread_type()
        self._thread.start()

    def stop(self, parent: Any) -> None:
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    terminate = stop
