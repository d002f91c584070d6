"""Back-pressure: under overload, clients are told to send again in a second or two."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import ClassVar, Final

import structlog
from django.db import InterfaceError, OperationalError

from traces.errors import ProblemError

log = structlog.get_logger("traces.collectors.back_pressure")
RETRY_AFTER_S: Final = 1
# Fewer than the threads that handle requests: the cockpit stays usable while agents send.
_SLOTS: Final = BoundedSemaphore(4)
# Clients give up after 5 to 15 s and lose the batch, so that a prompt refusal is better than a long wait.
_PATIENCE_S: Final = 2.0


class ServerOverload(ProblemError):
    """The server cannot keep up; nothing was stored, and the client should send the request again."""

    code = "dependency_unavailable"
    status = 503
    retryable = True
    wait: ClassVar[int] = RETRY_AFTER_S


@contextmanager
def slot() -> Iterator[None]:
    """Take one of the few slots for requests that store.

    Raises `ServerOverload` if none becomes free in time, or if the database does not respond.
    """
    if not _SLOTS.acquire(timeout=_PATIENCE_S):
        raise ServerOverload("the server is busy: send the request again in a second")
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        log.error("database_unavailable", exc_info=error)
        raise ServerOverload("the database did not respond: send the request again in a second") from error
    finally:
        _SLOTS.release()
