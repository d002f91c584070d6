"""Back-pressure: under overload, clients are told to send again in a second or two."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock, local
from typing import Any, ClassVar, Final, cast

import structlog
from django.db import InterfaceError, OperationalError, connection

from traces.errors import ProblemError
from traces.http.outages import name_outage

log = structlog.get_logger("traces.collectors.back_pressure")
RETRY_AFTER_S: Final = 1
# Fewer than the threads that handle requests: the cockpit stays usable while agents send.
_SLOTS: Final = BoundedSemaphore(4)
# Clients give up after 5 to 15 s and lose the batch, so that a prompt refusal is better than a long wait.
_PATIENCE_S: Final = 1.0
# Of a transaction on SQLite, for other threads and for other processes.
_LOCK_PATIENCE_S: Final = 0.75
_local: Final = local()
# Overload refuses hundreds of requests a second, and their clients send them again.
_LOG_PAUSE_S: Final = 30.0


class ServerOverload(ProblemError):
    """The server cannot keep up; nothing was stored, and the client should send the request again."""

    code = "dependency_unavailable"
    status = 503
    retryable = True
    wait: ClassVar[int] = RETRY_AFTER_S


class _Refusals:
    """Logs refusals: the first one at once, then their number now and then."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._logged_at = -_LOG_PAUSE_S

    def note(self, reason: str) -> None:
        with self._lock:
            self._count += 1
            if time.monotonic() - self._logged_at < _LOG_PAUSE_S:
                return
            count, self._count, self._logged_at = self._count, 0, time.monotonic()
        log.warning("requests_deferred", count=count, reason=reason)


_REFUSALS: Final = _Refusals()


def note_queue(seconds: float) -> None:
    """Note how long the request that this thread now handles has waited for a thread."""
    _local.queue_s = seconds


@contextmanager
def slot() -> Iterator[None]:
    """Take one of the few slots for requests that store.

    Raises `ServerOverload` if the request has to wait too long, or if the database does not respond.
    """
    patience = _PATIENCE_S - getattr(_local, "queue_s", 0.0)
    if patience <= 0 or not _SLOTS.acquire(timeout=patience):
        _REFUSALS.note("no thread is free")
        raise ServerOverload("the server is busy: send the request again in a second")
    database = cast(Any, connection)
    try:
        # On PostgreSQL, writers wait for rows only.
        database.patience_s = _LOCK_PATIENCE_S
        yield
    except (OperationalError, InterfaceError) as error:
        problem = name_outage(error)
        _REFUSALS.note(f"{problem} ({type(error).__name__})")
        raise ServerOverload(f"{problem}: send the request again in a second") from error
    finally:
        database.patience_s = None
        _SLOTS.release()
