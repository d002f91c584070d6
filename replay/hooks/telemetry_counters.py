"""What became of telemetry events, counted in the database because every process has senders of its own."""

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
_EVERY_S: Final = 1.0  # a row a second is enough to watch


@dataclass
class _Count:
    sent: int = 0
    dropped: int = 0
    error: str = ""
    written_at: float = 0.0


_lock = threading.Lock()
_counts: dict[str, _Count] = {}


def sent(target: str, count: int) -> None:
    with _lock:
        _counts.setdefault(target, _Count()).sent += count
    _flush_now_and_then(target)


def dropped(target: str, count: int, why: str) -> None:
    with _lock:
        known = _counts.setdefault(target, _Count())
        known.dropped += count
        known.error = why


def failed(target: str, why: str) -> None:
    with _lock:
        _counts.setdefault(target, _Count()).error = why
    _flush_now_and_then(target)


def flush(target: str) -> None:
    """Write what was counted; while the database is away it is kept for the next time."""
    with _lock:
        count = _counts.pop(target, None)
    if count is None or not (count.sent or count.dropped or count.error):
        return
    try:
        _write(target, count)
    except Error as error:
        connection.close_if_unusable_or_obsolete()
        logger.warning("telemetry_count_not_stored", target=target, error=str(error).partition("\n")[0])
        with _lock:
            known = _counts.setdefault(target, _Count(written_at=time.monotonic()))
            known.sent, known.dropped = known.sent + count.sent, known.dropped + count.dropped
            known.error = known.error or count.error


def leave() -> None:
    """The thread that counted ends, and its connection with it."""
    connection.close()


def _flush_now_and_then(target: str) -> None:
    with _lock:
        count = _counts.get(target)
        due = count is not None and time.monotonic() - count.written_at > _EVERY_S
    if due:
        flush(target)
        with _lock:
            _counts.setdefault(target, _Count()).written_at = time.monotonic()


def _write(target: str, count: _Count) -> None:
    now = datetime.now(UTC)
    changed: dict[str, object] = {"sent": F("sent") + count.sent, "dropped": F("dropped") + count.dropped}
    if count.sent:
        changed["sent_at"] = now
    if count.error:
        changed |= {"error": count.error[:2000], "error_at": now}
    with transaction.atomic():
        TelemetryCount.objects.get_or_create(target=target)
        TelemetryCount.objects.filter(target=target).update(**changed)
