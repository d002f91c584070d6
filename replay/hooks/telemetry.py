"""Telemetry: events to the configured targets, in order, from a thread of their own, never waited for.

Each process has one sender for each target. What does not fit into its queue, or is not accepted after all retries, is
dropped, counted, and told to the target itself as an `events_dropped` event.
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
from replay.hooks.telemetry_sinks import Delivery, Refused, Unreachable, place_of
from traces.core.json_types import JSONObject

logger = structlog.get_logger("replay.telemetry")
SESSION_LIMIT_S: Final = 2.0  # a replay's end waits this long for its events
SHUTDOWN_LIMIT_S: Final = 3.0
_FIRST_WAIT_S: Final = 0.25
_LONGEST_WAIT_S: Final = 30.0
_COUNTED_S: Final = 2.0
_IDLE_S: Final = 60.0  # a sender without events ends its thread


class Sender:
    """The queue of one target and the thread that empties it."""

    def __init__(self, name: str, entry: TelemetryEntry, place: Delivery) -> None:
        self.name = name
        self.entry = entry
        self.place = place
        self.closing = False
        self._queue: deque[JSONObject] = deque()
        self._under_way = 0
        self._dropped = 0  # not yet told
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def put(self, envelope: JSONObject) -> None:
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
        """Wait until all is sent or dropped; False when the time was not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and not self._under_way, limit_s)

    def close(self, limit_s: float) -> bool:
        """Send what there is within the limit; the rest is dropped and counted, and the answer is False."""
        with self._changed:
            self.closing, thread = True, self._thread
            self._changed.notify_all()
        if not (done := self.flush(limit_s)):
            with self._changed:
                left = len(self._queue) + self._under_way
                self._queue.clear()
            self._drop(left, "the process ended first")
        if thread is not None and done:
            thread.join(_COUNTED_S)  # it writes what it counted
        telemetry_counters.flush(self.name)
        self.place.close()
        return done

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
                    telemetry_counters.leave()
        finally:
            telemetry_counters.flush(self.name)
            telemetry_counters.leave()

    def _next(self) -> list[JSONObject]:
        """The next events to send, in order; none when there were none for long."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._queue) or self.closing, _IDLE_S)
            batch = [self._queue.popleft() for _ in range(min(self.entry.batch, len(self._queue)))]
            self._under_way = len(batch)
            if not batch:
                self._thread = None
            return batch

    def _deliver(self, batch: list[JSONObject]) -> None:
        """Send one batch with its retries, and before it what was lost since the last."""
        told = self._dropped
        envelopes = [_lost(batch[0], told), *batch] if told else batch
        for attempt in range(self.entry.retries + 1):
            try:
                self.place.send(envelopes)
            except Unreachable as error:
                telemetry_counters.failed(self.name, str(error))
                if attempt < self.entry.retries and not self.closing:
                    self._wait(error.retry_after_s, attempt)
                    continue
                self._drop(len(batch), str(error))
            except Exception as error:  # noqa: BLE001  # refused, or a mistake of ours: the thread goes on
                self._drop(len(batch), str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}")
            else:
                with self._changed:
                    self._dropped -= told
                telemetry_counters.sent(self.name, len(batch))
            return

    def _wait(self, asked: float | None, attempt: int) -> None:
        seconds = min(_FIRST_WAIT_S * 2**attempt if asked is None else asked, _LONGEST_WAIT_S)
        until = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self.closing, max(0.0, until - time.monotonic()))

    def _drop(self, count: int, why: str) -> None:
        """Count what is lost; the log hears of each run of losses once."""
        with self._changed:
            if not self._dropped:
                logger.warning("telemetry_dropped", target=self.name, why=why)
            self._dropped += count
        telemetry_counters.dropped(self.name, count, why)


class _Senders:
    """The senders of this process. A forked child begins with none, because threads do not survive a fork."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_name: dict[str, Sender] = {}
        self.configured: object = None

    def current(self, entries: Mapping[str, TelemetryEntry]) -> list[Sender]:
        with self.lock:
            if self.configured != entries:
                self.by_name = {name: Sender(name, entry, place_of(entry)) for name, entry in entries.items()}
                self.configured = entries
            return list(self.by_name.values())


_senders = _Senders()
os.register_at_fork(after_in_child=_senders.__init__)  # type: ignore[misc]  # begins anew, lock and all


def targets() -> dict[str, TelemetryEntry]:
    """The targets that get events; runs that go to Langfuse are exported when they are complete."""
    return {name: entry for name, entry in configuration.targets().items() if entry.langfuse is None}


def emit(envelope: JSONObject) -> None:
    """Queue an event for every target; returns at once."""
    for sender in _senders.current(targets()):
        sender.put(envelope)


def flush(limit_s: float) -> bool:
    """Wait for the queues of this process, within a limit for all of them."""
    return _all(lambda sender, left: sender.flush(left), limit_s)


def close(limit_s: float = SHUTDOWN_LIMIT_S) -> None:
    """Send what there is, within a limit, and drop the rest."""
    _all(lambda sender, left: sender.close(left), limit_s)
    _senders.__init__()  # type: ignore[misc]  # begins anew


def _all(act: Callable[[Sender, float], bool], limit_s: float) -> bool:
    until = time.monotonic() + limit_s
    senders = list(_senders.by_name.values())
    return not [sender for sender in senders if not act(sender, max(0.0, until - time.monotonic()))]


def _lost(next_event: JSONObject, count: int) -> JSONObject:
    """Tells the target what it did not get."""
    return {**next_event, "event_type": "events_dropped", "payload": {"count": count}}


def _at_exit(**_: object) -> None:
    close()


atexit.register(close)
worker_process_shutdown.connect(_at_exit)  # a prefork child leaves without the handlers of `atexit`
