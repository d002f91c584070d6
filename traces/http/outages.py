"""Outages of the database, in the words of an error response."""

import sqlite3
from typing import Final

from django.db import Error

# A writer waits for another one.
_WAITS: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_POSTGRES_FULL: Final = "53100"
# For a moment in a failover, or because its disk is nearly full.
_POSTGRES_READ_ONLY: Final = "25006"


def name_outage(error: Error) -> str:
    """Return what keeps the database from its work."""
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF
    if code == sqlite3.SQLITE_FULL or getattr(cause, "sqlstate", None) == _POSTGRES_FULL:
        return "the disk of the server's database is full"
    if getattr(cause, "sqlstate", None) == _POSTGRES_READ_ONLY:
        return "the server's database is read-only at the moment"
    return "the database did not respond" if code in _WAITS else f"the server's database failed: {cause}"
