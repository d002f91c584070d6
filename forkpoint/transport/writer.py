"""Pass events to a sink on a background thread: the agent only appends to a queue."""

import atexit
import logging
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from forkpoint.encoding import without_long_integers
from forkpoint.transport.events import Event
from forkpoint.transport.redaction import redact_line

_log = logging.getLogger("forkpoint")
_MAX_QUEUE: Final = 50_000  # events
_MAX_QUEUE_BYTES: Final = 256 * 1024 * 1024
# Lines that arrive within this time are passed on together.
_BATCH_S: Final = 0.02
# A program's exit waits this long for a server that does not answer.
_EXIT_S: Final = 5.0

Redact = Callable[[dict[str, Any]], dict[str, Any]]


class Line(NamedTuple):
    run_id: str
    text: str


class Sink(Protocol):
    """The destination of events. Its methods run on the writer's thread, except `reset`."""

    @property
    def dropped_events(self) -> int: ...

    def write(self, lines: list[Line]) -> None:
        """Accept lines. Never raises and never waits for a network."""

    def flush(self, timeout_s: float) -> bool:
        """Wait until all accepted lines arrived; return False on timeout."""

    def close(self, timeout_s: float) -> None:
        """Deliver what is left, and store what cannot be delivered in time."""

    def stats(self) -> dict[str, int]:
        """Return the numbers of events by what became of them."""

    def reset(self) -> None:
        """Forget everything that belongs to the parent process after a fork."""


class Writer:
    """A queue with a thread that redacts lines and passes them to the sink.

    When the queue is full, new lines are dropped and counted, so that recording cannot exhaust the agent's memory.
    """

    def __init__(self, sink: Sink, redact: Redact | None = None) -> None:
        self.sink = sink
        self.recorded_events = 0
        self._lost_lines = 0
        self._redact = redact
        self._reset()
        _writers.add(self)

    @property
    def dropped_events(self) -> int:
        return self._lost_lines + self.sink.dropped_events

    @property
    def pending_events(self) -> int:
        return len(self._queue)

    def _reset(self) -> None:
        """Start with an empty queue and no thread; a forked process writes only what it records itself."""
        # Guards the three below. Re-entrant, because an object that is garbage-collected meanwhile may record too.
        self._lock = threading.RLock()
        self._queue: list[Event] = []
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self._wakeup, self._idle = threading.Event(), threading.Event()
        self._idle.set()

    def reset_after_fork(self) -> None:
        self._reset()
        self.sink.reset()

    def enqueue(self, event: Event) -> None:
        """Add an event to the queue. Never blocks."""
        with self._lock:
            if len(self._queue) >= _MAX_QUEUE or self._bytes > _MAX_QUEUE_BYTES:
                self._lost_lines += 1
                return
            self.recorded_events += 1
            self._bytes += 0 if callable(event.payload) else len(event.payload)
            self._queue.append(event)
            if self._thread is None:
                self._start()
        if not self._wakeup.is_set():
            self._wakeup.set()

    def flush(self, timeout_s: float = _EXIT_S) -> bool:
        """Wait until every line queued so far arrived; return False on timeout."""
        deadline = time.monotonic() + timeout_s
        return self._drain(deadline) and self.sink.flush(max(0.0, deadline - time.monotonic()))

    def close(self) -> None:
        """End the thread after it passed on all lines, without waiting for it."""
        with self._lock:
            self._is_closing = True
            if self._thread is None:
                return
        self._wakeup.set()

    def finish(self) -> None:
        """Pass on and deliver everything, as far as the time at a program's exit allows."""
        deadline = time.monotonic() + _EXIT_S
        if self._thread is None and self._queue:
            self._write_queue()
        self._drain(deadline)
        self.sink.close(max(0.0, deadline - time.monotonic()))

    def _drain(self, deadline: float) -> bool:
        while self._queue or not self._idle.is_set():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def _start(self) -> None:
        self._thread = start_thread("forkpoint-recorder", self._run)
        if self._thread is None:
            return
        if pool := sys.modules.get("multiprocessing.util"):
            # A process that multiprocessing forked ends without running atexit.
            pool.Finalize(None, finish_writers, exitpriority=0)
            _deliver_before_termination()

    def _run(self) -> None:
        wakeup, idle = self._wakeup, self._idle
        while True:
            wakeup.wait()
            time.sleep(_BATCH_S)
            wakeup.clear()
            idle.clear()
            self._write_queue()
            idle.set()
            if self._is_closing and not self._queue:
                self.sink.close(_EXIT_S)
                return

    def _write_queue(self) -> None:
        with self._lock:
            batch, self._queue, self._bytes = self._queue, [], 0
        lines = [line for event in batch if (line := self._prepare(event))]
        try:
            self.sink.write(lines)
        except Exception:  # noqa: BLE001 - the thread must go on, whatever a value does
            self._lost_lines += len(lines)
            _log.exception("Events were lost")

    def _prepare(self, event: Event) -> Line | None:
        """Compute and redact a line. A line that fails is lost, and counted."""
        try:
            text = without_long_integers(event.line())
            return Line(event.run_id, redact_line(text, self._redact) if self._redact else text)
        except Exception:  # noqa: BLE001 - the thread must go on, whatever a value does
            self._lost_lines += 1
            _log.exception("An event was lost")
            return None


def start_thread(name: str, run: Callable[[], None]) -> threading.Thread | None:
    """Start a thread; return None if the system allows none now, as at the end of the program."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread


_writers: "weakref.WeakSet[Writer]" = weakref.WeakSet()


def _reset_writers() -> None:
    for writer in list(_writers):
        writer.reset_after_fork()


def finish_writers() -> None:
    """Deliver what every writer has, as at the program's exit."""
    for writer in list(_writers):
        writer.finish()


def flush_writers() -> None:
    """Wait until what every writer has so far arrived."""
    for writer in list(_writers):
        writer.flush()


def _deliver_before_termination() -> None:
    """Let a worker of a pool deliver what it has when the pool terminates it."""
    is_worker = sys.modules["multiprocessing.process"].parent_process() is not None
    if not is_worker or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _deliver_and_end)


def _deliver_and_end(number: int, frame: object) -> None:
    finish_writers()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_writers)
atexit.register(finish_writers)
