"""Delivery counts of telemetry, summed up in the database over the senders of all processes."""

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog
from django.db import Error, connection, transaction
from django.db.models import F

from replay.models import TelemetryCount

logger = structlog.get_logger("replay.telemetry")
_WRITE_INTERVAL_S: Final = 1.0


@dataclass
class _Count:
    sent_events: int = 0
    dropped_events: int = 0
    error: str = ""
    written_at: float = 0.0


_lock = threading.Lock()
_counts: dict[str, _Count] = {}


def count_sent(target: str, count: int) -> None:
    with _lock:
        _counts.setdefault(target, _Count()).sent_events += count
    _flush_if_due(target)


def count_dropped(target: str, count: int, reason: str) -> None:
    with _lock:
        counts = _counts.setdefault(target, _Count())
        counts.dropped_events += count
        counts.error = reason


def count_failure(target: str, reason: str) -> None:
    with _lock:
        _counts.setdefault(target, _Count()).error = reason
    _flush_if_due(target)


def flush(target: str) -> None:
    """Write the counts; during a database outage they are kept for the next time."""
    with _lock:
        count = _counts.pop(target, None)
    if count is None or not (count.sent_events or count.dropped_events or count.error):
        return
    try:
        _write(target, count)
    except Error as error:
        connection.close_if_unusable_or_obsolete()
        logger.warning("telemetry_count_not_stored", target=target, error=str(error).partition("\n")[0])
        with _lock:
            counts = _counts.setdefault(target, _Count(written_at=time.monotonic()))
            counts.sent_events, counts.dropped_events = (
                counts.sent_events + count.sent_events,
                counts.dropped_events + count.dropped_events,
            )
            counts.error = counts.error or count.error


def close_connection() -> None:
    """Close the connection of a thread that ends."""
    connection.close()


def _flush_if_due(target: str) -> None:
    with _lock:
        count = _counts.get(target)
        due = count is not None and time.monotonic() - count.written_at > _WRITE_INTERVAL_S
    if due:
        flush(target)
        with _lock:
            _counts.setdefault(target, _Count()).written_at = time.monotonic()


def _write(target: str, count: _Count) -> None:
    now = datetime.now(UTC)
    columns: dict[str, object] = {"sent": F("sent") + count.sent_events, "dropped": F("dropped") + count.dropped_events}
    if count.sent_events:
        columns["sent_at"] = now
    if count.error:
        columns |= {"error": count.error[:2000], "error_at": now}
    with transaction.atomic():
        TelemetryCount.objects.get_or_create(target=target)
        TelemetryCount.objects.filter(target=target).update(**columns)
