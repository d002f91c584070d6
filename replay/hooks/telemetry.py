"""Telemetry: sends events to the configured targets in order, without blocking replays.

Each process has one sender per target. Events that do not fit into its queue, or are not accepted after all retries,
are dropped, counted, and reported to the target in an `events_dropped` event.
"""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from celery.signals import worker_process_shutdown

from replay.hooks import configuration, telemetry_counters
from replay.hooks.configuration import TelemetryEntry
from replay.hooks.telemetry_sinks import Delivery, PermanentFailure, Unreachable, create_delivery
from traces.core.json_types import JSONObject

logger = structlog.get_logger("replay.telemetry")
SESSION_LIMIT_S: Final = 2.0  # longest wait for events at a replay's end
SHUTDOWN_LIMIT_S: Final = 3.0
_FIRST_WAIT_S: Final = 0.25
_LONGEST_WAIT_S: Final = 30.0
_JOIN_S: Final = 2.0
_IDLE_S: Final = 60.0  # until a sender without events ends its thread


class Sender:
    """The queue of one target and the thread that empties it."""

    def __init__(self, name: str, entry: TelemetryEntry, place: Delivery) -> None:
        self.name = name
        self.entry = entry
        self.place = place
        self.closing = False
        self._queue: deque[JSONObject] = deque()
        self._under_way = 0
        # Not yet reported.
        self._drop_count = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def enqueue(self, envelope: JSONObject) -> None:
        """Queue an event; a full queue drops it."""
        if self.entry.events and envelope["event_type"] not in self.entry.events:
            return
        with self._changed:
            if len(self._queue) >= self.entry.queue:
                self._drop(1, "the queue is full")
                return
            self._queue.append(envelope)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"telemetry-{self.name}", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, limit_s: float) -> bool:
        """Wait until all events are sent or dropped; False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and not self._under_way, limit_s)

    def close(self, limit_s: float) -> bool:
        """Send the queued events within the limit; False if events had to be dropped."""
        with self._changed:
            self.closing, thread = True, self._thread
            self._changed.notify_all()
        if not (is_flushed := self.flush(limit_s)):
            with self._changed:
                left = len(self._queue) + self._under_way
                self._queue.clear()
            self._drop(left, "the process ended first")
        if thread is not None and is_flushed:
            # The thread writes its counts.
            thread.join(_JOIN_S)
        telemetry_counters.flush(self.name)
        self.place.close()
        return is_flushed

    def _work(self) -> None:
        try:
            while batch := self._next():
                self._deliver(batch)
                with self._changed:
                    self._under_way = 0
                    idle = not self._queue
                    self._changed.notify_all()
                if idle:
                    telemetry_counters.flush(self.name)
                    telemetry_counters.close_connection()
        finally:
            telemetry_counters.flush(self.name)
            telemetry_counters.close_connection()

    def _next(self) -> list[JSONObject]:
        """Return the next events to send, in order; empty after the idle time."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._queue) or self.closing, _IDLE_S)
            batch = [self._queue.popleft() for _ in range(min(self.entry.batch, len(self._queue)))]
            self._under_way = len(batch)
            if not batch:
                self._thread = None
            return batch

    def _deliver(self, batch: list[JSONObject]) -> None:
        """Send one batch with retries, after a report of events dropped since the last batch."""
        unreported_drops = self._drop_count
        envelopes = [_drop_report(batch[0], unreported_drops), *batch] if unreported_drops else batch
        for attempt in range(self.entry.retries + 1):
            try:
                self.place.send(envelopes)
            except Unreachable as error:
                telemetry_counters.count_failure(self.name, str(error))
                if attempt < self.entry.retries and not self.closing:
                    self._wait(error.retry_after_s, attempt)
                    continue
                self._drop(len(batch), str(error))
            except Exception as error:  # noqa: BLE001
                # Rejected, or our bug: the thread continues.
                self._drop(
                    len(batch),
                    str(error) if isinstance(error, PermanentFailure) else f"{type(error).__name__}: {error}",
                )
            else:
                with self._changed:
                    self._drop_count -= unreported_drops
                telemetry_counters.count_sent(self.name, len(batch))
            return

    def _wait(self, retry_after_s: float | None, attempt: int) -> None:
        seconds = min(_FIRST_WAIT_S * 2**attempt if retry_after_s is None else retry_after_s, _LONGEST_WAIT_S)
        deadline = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self.closing, max(0.0, deadline - time.monotonic()))

    def _drop(self, count: int, reason: str) -> None:
        """Count dropped events; each series of drops is logged once."""
        with self._changed:
            if not self._drop_count:
                logger.warning("telemetry_dropped", target=self.name, reason=reason)
            self._drop_count += count
        telemetry_counters.count_dropped(self.name, count, reason)


class _Senders:
    """Senders of this process. A forked child starts without any, because threads do not survive a fork."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_name: dict[str, Sender] = {}
        self.entries: object = None

    def current(self, entries: Mapping[str, TelemetryEntry]) -> list[Sender]:
        with self.lock:
            if self.entries != entries:
                self.by_name = {name: Sender(name, entry, create_delivery(entry)) for name, entry in entries.items()}
                self.entries = entries
            return list(self.by_name.values())


_senders = _Senders()
# Resets all state, including the lock.
os.register_at_fork(after_in_child=_senders.__init__)  # type: ignore[misc]


def targets() -> dict[str, TelemetryEntry]:
    """Return the targets of events; Langfuse is not one of them, since it receives complete runs."""
    return {name: entry for name, entry in configuration.targets().items() if entry.langfuse is None}


def emit(envelope: JSONObject) -> None:
    """Queue an event for every target, without blocking."""
    for sender in _senders.current(targets()):
        sender.enqueue(envelope)


def flush(limit_s: float) -> bool:
    """Wait for all queues of this process, within one common limit."""
    return _all(lambda sender, left: sender.flush(left), limit_s)


def close(limit_s: float = SHUTDOWN_LIMIT_S) -> None:
    """Send the queued events within the limit, and drop the others."""
    _all(lambda sender, left: sender.close(left), limit_s)
    # Resets all state.
    _senders.__init__()  # type: ignore[misc]


def _all(act: Callable[[Sender, float], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    senders = list(_senders.by_name.values())
    return not [sender for sender in senders if not act(sender, max(0.0, deadline - time.monotonic()))]


def _drop_report(next_event: JSONObject, count: int) -> JSONObject:
    """Build the event that reports dropped events to the target."""
    return {**next_event, "event_type": "events_dropped", "payload": {"count": count}}


def _at_exit(**_: object) -> None:
    close()


atexit.register(close)
# Prefork children exit without running `atexit` handlers.
worker_process_shutdown.connect(_at_exit)
