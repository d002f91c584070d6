"""Classification of database errors as outages or bugs, and validation of the takeover time."""

import os
import sqlite3
import subprocess
import sys

import psycopg
import pytest
from django.db import DataError, Error, IntegrityError, InterfaceError, OperationalError, ProgrammingError
from psycopg import errors

from replay.live import outages
from traces.errors import StorageAway, StorageRefuses


def _error(kind: type[Error], cause: Exception | None = None) -> Error:
    error = kind("it failed")
    error.__cause__ = cause
    return error


def _sqlite(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (_error(OperationalError, psycopg.OperationalError("server closed the connection unexpectedly")), True),
        (_error(OperationalError, errors.AdminShutdown()), True),
        (_error(OperationalError, errors.CannotConnectNow()), True),
        (_error(OperationalError, errors.DeadlockDetected()), True),
        (_error(OperationalError, errors.TooManyConnections()), True),
        (_error(OperationalError, errors.ReadOnlySqlTransaction()), True),
        (_error(InterfaceError, psycopg.InterfaceError("the connection is closed")), True),
        (StorageAway("no answer"), True),
        (StorageRefuses("wrong credentials"), False),
        (_error(OperationalError, _sqlite(sqlite3.SQLITE_BUSY)), True),
        (_error(OperationalError, _sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT)), True),
        (_error(OperationalError, _sqlite(sqlite3.SQLITE_IOERR_WRITE)), True),
        (_error(OperationalError, _sqlite(sqlite3.SQLITE_ERROR)), False),  # no such table
        (_error(IntegrityError, errors.UniqueViolation()), False),
        (_error(ProgrammingError, errors.UndefinedTable()), False),
        (_error(DataError, errors.StringDataRightTruncation()), False),
        (ValueError("a mistake"), False),
    ],
)
def test_outages_differ_from_bugs(error: Exception, expected: bool) -> None:
    assert outages.is_outage(error) is expected


def test_work_is_retried_through_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    left = [_error(OperationalError), _error(InterfaceError)]

    def work() -> str:
        if left:
            raise left.pop()
        return "done"

    assert outages.retry_through_outage(work) == "done"
    assert len(pauses) == 2


def test_bugs_and_long_outages_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(error: Error) -> None:
        raise error

    with pytest.raises(IntegrityError):
        outages.retry_through_outage(lambda: fail(_error(IntegrityError)))
    with pytest.raises(OperationalError):
        outages.retry_through_outage(lambda: fail(_error(OperationalError)), patience_s=-1)
    assert outages.if_reachable(lambda: fail(_error(OperationalError)), fallback=None) is None


@pytest.mark.parametrize("value", ["0.9", "nan", "3601", "soon"])
def test_invalid_takeover_time_fails_at_start(value: str) -> None:
    env = {**os.environ, "FORKPOINT_TAKEOVER_S": value}
    process = subprocess.run(
        [sys.executable, "-c", "import cockpit.settings"], env=env, capture_output=True, text=True, timeout=60
    )
    assert process.returncode != 0
    assert "FORKPOINT_TAKEOVER_S" in process.stderr
