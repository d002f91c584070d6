"""Replacements of Redis for a single process: a thread-safe channel layer and an embedded worker."""

import asyncio
import threading
from typing import Any, ClassVar

from celery.worker import WorkController, state
from channels.layers import InMemoryChannelLayer
from kombu.transport import memory

from cockpit.celery import app
from replay.live import shutdown

# It starts within a second; on a machine that is busy with other work, it may take many.
START_LIMIT_S = 60
# A task that still runs after this time is recovered at the next start.
STOP_LIMIT_S = 6
_GLANCE_S = 0.1


class LoopBoundLayer(InMemoryChannelLayer):
    """The in-memory layer, with sending from worker threads.

    Its queues belong to the server's event loop, which does not wake up for a send on another loop.
    """

    _loop: asyncio.AbstractEventLoop | None = None

    async def receive(self, channel: str) -> dict[str, Any]:
        self._loop = asyncio.get_running_loop()
        message: dict[str, Any] = await super().receive(channel)
        return message

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        send = super().group_send(group, message)
        if self._loop in (None, asyncio.get_running_loop()):
            await send
        elif self._loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(send, self._loop))
        else:
            # The server is shutting down.
            send.close()


class _Channel(memory.Channel):
    """A queue in memory whose reader wakes up for each message."""

    arrival: ClassVar = threading.Event()

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        super()._put(queue, message, **options)
        self.arrival.set()


class QuickTransport(memory.Transport):
    """The in-memory queue without a polling interval.

    Celery looks for messages every second, and waits 2 s for each, once more at shutdown.
    """

    Channel = _Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        try:
            super().drain_events(connection, timeout=0)
        except TimeoutError:
            # Celery acknowledges finished tasks, and sees that it shall stop, between two calls.
            if not _Channel.arrival.wait(_GLANCE_S):
                raise
            # What arrives from here on sets it again, and what is there already is found by the next call.
            _Channel.arrival.clear()


class _Controller(WorkController):
    """A worker that signals when it starts to consume."""

    def __init__(self, consuming: threading.Event, **options: Any) -> None:
        self.consuming = consuming
        super().__init__(**options)

    def on_consumer_ready(self, consumer: Any) -> None:
        self.consuming.set()


class EmbeddedWorker:
    """A real Celery worker in threads of this process."""

    def __init__(self, concurrency: int = 2) -> None:
        self._concurrency = concurrency
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        app.finalize()
        app.set_current()
        state.should_stop = state.should_terminate = None
        consuming = threading.Event()
        # WorkController instead of app.Worker, which takes over signals and standard output.
        controller = _Controller(
            consuming,
            app=app,
            pool="threads",
            concurrency=self._concurrency,
            hostname="embedded@localhost",
            without_heartbeat=True,
            without_mingle=True,
            without_gossip=True,
        )
        self._thread = threading.Thread(target=controller.start, name="celery-embedded", daemon=True)
        self._thread.start()
        if not consuming.wait(START_LIMIT_S):
            raise RuntimeError(f"The embedded worker did not start within {START_LIMIT_S} s.")

    def stop(self, limit_s: float = STOP_LIMIT_S) -> bool:
        """Stop the worker; return True if it finished in time."""
        if self._thread is None:
            return True
        shutdown.request()
        state.should_stop = 0  # type: ignore[assignment]  # the exit code; celery-types declares None
        self._thread.join(limit_s)
        if self._thread.is_alive():
            return False
        shutdown.reset()
        return True
