"""Outages of the database or the artifact storage: recognized by error type and code, and retried."""

import sqlite3
import time
from collections.abc import Callable
from typing import Final, TypeVar

import structlog
from django.db import Error, InterfaceError, OperationalError, connection

from traces.errors import StorageAway
from traces.storage import artifact_files

logger = structlog.get_logger("replay")
PATIENCE_S: Final = 90.0  # longer than a server takes to recover from a crash
_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
# SQLSTATE classes: connection, transaction (read-only, timeout), its rollback (deadlock), resources, operator
# intervention.
_CLASSES: Final = ("08", "25", "40", "53", "57")
_SQLITE: Final = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
}
# Candidates for `is_outage`.
OUTAGE_ERRORS: Final = (Error, StorageAway)
ResultT = TypeVar("ResultT")


def is_outage(error: BaseException) -> bool:
    """True if the same operation may succeed later."""
    if isinstance(error, InterfaceError | StorageAway):
        return True
    if not isinstance(error, OperationalError):
        return False
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state[:2] in _CLASSES


def retry_through_outage(work: Callable[[], ResultT], *, patience_s: float = PATIENCE_S) -> ResultT:
    """Run `work`, and repeat it while an outage makes it fail, for at most `patience_s`."""
    deadline, failures = time.monotonic() + patience_s, 0
    while True:
        try:
            return work()
        except OUTAGE_ERRORS as error:
            if not is_outage(error) or time.monotonic() > deadline:
                raise
            if not failures:
                logger.warning("store_away", error=str(error).partition("\n")[0])
            connection.close()
            time.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1


def wait_for_storage(error: BaseException) -> None:
    """Wait until the artifact storage answers again. Databases are awaited by retrying the query."""
    if isinstance(error, StorageAway):
        retry_through_outage(artifact_files.check)


def if_reachable(work: Callable[[], ResultT], fallback: ResultT) -> ResultT:
    """Return the result of `work`, or `fallback` during an outage."""
    try:
        return work()
    except OUTAGE_ERRORS as error:
        if not is_outage(error):
            raise
        connection.close()
        return fallback
