"""Back-pressure: under overload, clients are told to send again in a second or two."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, local
from typing import Any, ClassVar, Final, cast

import structlog
from django.db import InterfaceError, OperationalError, connection

from traces.errors import ProblemError

log = structlog.get_logger("traces.collectors.back_pressure")
RETRY_AFTER_S: Final = 1
# Fewer than the threads that handle requests: the cockpit stays usable while agents send.
_SLOTS: Final = BoundedSemaphore(4)
# Clients give up after 5 to 15 s and lose the batch, so that a prompt refusal is better than a long wait.
_PATIENCE_S: Final = 1.0
# Of a transaction on SQLite, for other threads and for other processes.
_LOCK_PATIENCE_S: Final = 0.75
_local: Final = local()


class ServerOverload(ProblemError):
    """The server cannot keep up; nothing was stored, and the client should send the request again."""

    code = "dependency_unavailable"
    status = 503
    retryable = True
    wait: ClassVar[int] = RETRY_AFTER_S


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
        raise ServerOverload("the server is busy: send the request again in a second")
    database = cast(Any, connection)
    try:
        # On PostgreSQL, writers wait for rows only.
        database.patience_s = _LOCK_PATIENCE_S
        yield
    except (OperationalError, InterfaceError) as error:
        log.error("database_unavailable", exc_info=error)
        raise ServerOverload("the database did not respond: send the request again in a second") from error
    finally:
        database.patience_s = None
        _SLOTS.release()
