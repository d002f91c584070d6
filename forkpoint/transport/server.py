"""Send events to a server in batches. What cannot be sent is stored in a folder and sent later."""

import importlib
import logging
import threading
import time
from collections import Counter
from typing import Final

from forkpoint.transport.outcomes import Delivery, Outcome
from forkpoint.transport.spill import SpillFolder
from forkpoint.transport.writer import Line, start_thread

_log = logging.getLogger("forkpoint")
_BATCH_BYTES: Final = 1024 * 1024
# The oldest event of a batch waits at most this long for others.
_BATCH_S: Final = 1.0
# Events in memory beyond this, and events that waited this long for the server, are stored in the folder.
_MAX_PENDING_BYTES: Final = 32 * 1024 * 1024
_MAX_PENDING_S: Final = 5.0
_MIN_BACKOFF_S: Final = 1.0
_MAX_BACKOFF_S: Final = 30.0


class ServerSink:
    """Batches of events on the way to a server.

    A sender thread posts them. An unreachable server is tried again after a growing delay, a busy one when it asks
    for it, and one that refuses the token not at all. Meanwhile events are stored in the spill folder, which any later
    process empties.
    """

    def __init__(self, *, url: str, token: str, spill: SpillFolder) -> None:
        self.url = url
        self._token = token
        self._spill = spill
        self._counts: Counter[str] = Counter()
        self._warnings: set[str] = set()
        self.reset()

    @property
    def dropped_events(self) -> int:
        return self._counts["dropped"]

    def reset(self) -> None:
        # Guards everything below.
        self._changed = threading.Condition()
        self._pending: list[str] = []
        self._pending_bytes = 0
        self._pending_since = 0.0
        # The batch that is being posted. `close` stores it if the server does not answer in time.
        self._in_flight: list[str] = []
        self._is_resending = False
        self._is_flushing = False
        self._is_closing = False
        self._is_refused = False
        self._is_unreachable = False
        self._retry_at = 0.0
        self._backoff_s = 0.0
        self._thread: threading.Thread | None = None

    def stats(self) -> dict[str, int]:
        names = ("sent", "stored", "rejected", "dropped")
        return {**{name: self._counts[name] for name in names}, "spilled_bytes": self._spill.size()}

    def write(self, lines: list[Line]) -> None:
        with self._changed:
            if not self._pending:
                self._pending_since = time.monotonic()
            self._pending += [line.text for line in lines]
            self._pending_bytes += sum(len(line.text) for line in lines)
            if self._pending_bytes > _MAX_PENDING_BYTES:
                self._store(self._take())
            if self._thread is None:
                self._thread = start_thread("forkpoint-sender", self._run)
            self._changed.notify_all()

    def flush(self, timeout_s: float) -> bool:
        """Send everything now; return False if something could not be sent in time."""
        with self._changed:
            if self._thread is None:
                return not self._pending
            self._is_flushing = True
            self._changed.notify_all()
            self._changed.wait_for(self._has_settled, timeout_s)
            self._is_flushing = False
            return not self._pending and not self._in_flight and not self._spill.files()

    def close(self, timeout_s: float) -> None:
        self.flush(0.0 if self._is_unreachable or self._is_refused else timeout_s)
        with self._changed:
            self._is_closing = True
            self._store([*self._in_flight, *self._take()])
            self._changed.notify_all()

    def _has_settled(self) -> bool:
        """Return whether everything was sent, or stored while it cannot be sent."""
        if self._pending or self._in_flight or self._is_resending:
            return False
        return self._is_unreachable or self._is_refused or not self._spill.oldest()

    def _run(self) -> None:
        """Post batches until the sink is closed."""
        while True:
            with self._changed:
                self._changed.wait_for(self._is_due, self._seconds_until_due())
                if self._is_closing:
                    return
                self._in_flight = self._next_batch()
                path = self._spill.oldest() if not self._in_flight and self._may_send() else None
                self._is_resending = path is not None
            if self._in_flight:
                self._deliver(self._in_flight)
            elif path:
                self._resend(path)
            with self._changed:
                self._in_flight, self._is_resending = [], False
                self._changed.notify_all()

    def _may_send(self) -> bool:
        return not self._is_refused and time.monotonic() >= self._retry_at

    def _is_due(self) -> bool:
        return self._is_closing or self._seconds_until_due() <= 0

    def _seconds_until_due(self) -> float:
        """Return the time until a batch should be posted or stored, or a stored one posted."""
        now = time.monotonic()
        may_send = self._may_send()
        waits = [self._retry_at - now] if not may_send and not self._is_refused else []
        if may_send and self._spill.oldest():
            waits.append(0.0)
        if self._pending and (may_send or self._is_refused or self._is_unreachable):
            is_full = may_send and self._pending_bytes >= _BATCH_BYTES
            age_s = _BATCH_S if may_send else _MAX_PENDING_S
            waits.append(0.0 if is_full or self._is_flushing else self._pending_since + age_s - now)
        return min(waits, default=_MAX_BACKOFF_S)

    def _next_batch(self) -> list[str]:
        """Take a batch to post, if one is due. While nothing can be sent, store what waited long enough."""
        if not self._pending:
            return []
        age_s = time.monotonic() - self._pending_since
        if self._may_send():
            is_due = self._is_flushing or age_s >= _BATCH_S or self._pending_bytes >= _BATCH_BYTES
            return self._take(_BATCH_BYTES) if is_due else []
        if (self._is_refused or self._is_unreachable) and (self._is_flushing or age_s >= _MAX_PENDING_S):
            self._store(self._take())
        return []

    def _take(self, limit: int | None = None) -> list[str]:
        """Take the oldest events up to `limit` characters, at least one; all events without a limit."""
        size = count = 0
        for text in self._pending:
            if limit is not None and count and size + len(text) > limit:
                break
            size, count = size + len(text), count + 1
        batch, self._pending = self._pending[:count], self._pending[count:]
        self._pending_bytes -= size
        return batch

    def _deliver(self, batch: list[str]) -> None:
        delivery = self._post(as_body(batch))
        match delivery.outcome:
            case Outcome.SUCCESS:
                self._note_acceptance(delivery, len(batch))
            case Outcome.BUSY:
                self._restore(batch)
            case Outcome.TOO_LARGE if len(batch) > 1:
                half = len(batch) // 2
                self._deliver(batch[:half])
                self._deliver(batch[half:])
            case Outcome.TOO_LARGE | Outcome.INVALID:
                self._counts["rejected"] += len(batch)
                self._spill.set_aside(as_body(batch))
            case _:
                self._store(batch)

    def _restore(self, batch: list[str]) -> None:
        """Put a batch back, unless `close` has stored it meanwhile."""
        with self._changed:
            if not self._is_closing:
                self._pending[:0] = batch
                self._pending_bytes += sum(map(len, batch))

    def _resend(self, path: str) -> None:
        if not (body := self._spill.read(path)):
            return
        delivery = self._post(body)
        if delivery.outcome is Outcome.SUCCESS:
            self._note_acceptance(delivery, body.count(b"\n"))
            self._spill.remove(path)
        elif delivery.outcome is Outcome.TOO_LARGE and self._spill.split(path, body):
            return
        elif delivery.outcome in (Outcome.TOO_LARGE, Outcome.INVALID):
            self._counts["rejected"] += body.count(b"\n")
            self._spill.set_aside(body)
            self._spill.remove(path)

    def _post(self, body: bytes) -> Delivery:
        """Post a body, and note when the next may be sent."""
        http = importlib.import_module("forkpoint.transport.http")
        delivery: Delivery = http.post(self.url, self._token, body)
        outcome = delivery.outcome
        self._is_unreachable = outcome is Outcome.UNREACHABLE
        self._is_refused = outcome is Outcome.FORBIDDEN
        if outcome is Outcome.UNREACHABLE:
            self._backoff_s = min(max(2 * self._backoff_s, _MIN_BACKOFF_S), _MAX_BACKOFF_S)
            self._retry_at = time.monotonic() + self._backoff_s
        elif outcome is Outcome.BUSY:
            self._retry_at = time.monotonic() + min(delivery.retry_after_s, _MAX_BACKOFF_S)
        else:
            self._backoff_s = 0.0
        if outcome not in (Outcome.SUCCESS, Outcome.BUSY):
            self._warn_once(outcome, delivery.reason)
        return delivery

    def _note_acceptance(self, delivery: Delivery, line_count: int) -> None:
        self._counts["rejected"] += len(delivery.rejected_reasons)
        self._counts["sent"] += line_count - len(delivery.rejected_reasons)
        if delivery.rejected_reasons:
            self._warn_once(Outcome.INVALID, delivery.rejected_reasons[0])

    def _store(self, batch: list[str]) -> None:
        if batch:
            is_stored = self._spill.write(as_body(batch))
            self._counts["stored" if is_stored else "dropped"] += len(batch)

    def _warn_once(self, outcome: Outcome, reason: str) -> None:
        if outcome not in self._warnings:
            self._warnings.add(outcome)
            _log.warning(_WARNINGS[outcome], self.url, reason)


_WARNINGS: Final = {
    Outcome.UNREACHABLE: "Events are stored until they can be sent: %s did not accept them (%s)",
    Outcome.FORBIDDEN: "Events are stored and not sent: %s refused the token (%s). Set FORKPOINT_TOKEN",
    Outcome.INVALID: "Events were rejected by %s: %s",
    Outcome.TOO_LARGE: "An event was rejected by %s because it is too large (%s)",
}


def as_body(batch: list[str]) -> bytes:
    """Return events as the body of a request or the content of a file."""
    # "replace", because a lone surrogate in the agent's text has no UTF-8 encoding.
    return ("\n".join(batch) + "\n").encode("utf-8", "replace")
