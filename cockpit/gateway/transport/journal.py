"""Stores what passes through the gateway: one thread, off the loop on which the calls pass."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError, close_old_connections

from traces.collectors import events
from traces.recordings import arrivals

log = structlog.get_logger("cockpit.gateway")
# Makes lines of events; on the thread, because reading a long conversation takes a while.
Lines = Callable[[], bytes]
_MOST_AT_ONCE: Final = 100
# Calls that end within this time are stored together.
_PAUSE_S: Final = 0.1
_FLUSH_S: Final = 10.0
# Between attempts while the database is away or busy, in seconds.
_PAUSES_S: Final = (0.2, 1.0, 5.0, 15.0)


class Journal:
    """A queue of events and the thread that stores them. It starts with the first event."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Lines | threading.Event] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, lines: Lines) -> None:
        """Store events soon."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="gateway", daemon=True)
            self._thread.start()
        self._queue.put(lines)

    def flush(self) -> None:
        """Wait until everything added so far is stored, for a limited time."""
        if self._thread is None:
            return
        is_stored = threading.Event()
        self._queue.put(is_stored)
        if not is_stored.wait(_FLUSH_S):
            log.error("gateway_events_lost", pending=self._queue.qsize())

    def _work(self) -> None:
        while True:
            batch = [self._queue.get()]
            if not isinstance(batch[0], threading.Event):
                time.sleep(_PAUSE_S)
            while len(batch) < _MOST_AT_ONCE and not self._queue.empty():
                batch.append(self._queue.get())
            _store([item for item in batch if not isinstance(item, threading.Event)])
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()


def _store(batch: list[Lines]) -> None:
    """Store events; those that cannot be made or stored are reported and do not stop the others."""
    split = events.split(b"".join(_lines(item) for item in batch))
    for event in split.rejected:
        log.error("gateway_event_rejected", reason=event.reason)
    for pause_s in _PAUSES_S:
        try:
            _accept(split.segments)
        except (InterfaceError, OperationalError) as error:
            log.warning("gateway_waits_for_database", error=str(error).partition("\n")[0])
            time.sleep(pause_s)
        except Exception as error:  # noqa: BLE001  # the agent's calls go on whatever happens to their recording
            log.error("gateway_recording_failed", exc_info=error)
            return
        else:
            return
    log.error("gateway_events_lost", runs=[segment.external_id for segment in split.segments])


def _accept(segments: Sequence[arrivals.NewSegment]) -> None:
    close_old_connections()
    try:
        arrivals.accept(segments)
    finally:
        close_old_connections()


def _lines(make: Lines) -> bytes:
    try:
        return make()
    except Exception as error:  # noqa: BLE001  # as above
        log.error("gateway_event_failed", exc_info=error)
        return b""
