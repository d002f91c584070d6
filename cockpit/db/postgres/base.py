"""PostgreSQL backend that accepts any text, returns numbers unchanged, and tells outages from bugs.

PostgreSQL holds no NUL character in a text or in `jsonb`, and models, tools and people send them. What is given is
therefore stored with U+FFFD, the replacement character, in their place; payloads are bytes and keep theirs.
It also writes out the digits of 1e+300, which Python would read as an integer that no JSON of ours may hold. JSON of
the type `json` (`traces.models.ordered_json`) is returned as it was stored.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from django.db import Error, OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction, TransactionTimeout
from psycopg.types.json import Jsonb, JsonbDumper
from psycopg.types.string import StrDumper, StrDumperUnknown, TextLoader

from traces.core.storable_text import storable

_NUL_IN_JSON = b"\\u0000"  # may also be part of an escaped backslash, hence the second check

# Internal errors by the standard, as if they were bugs.
_OUTAGES: Final = (ReadOnlySqlTransaction, IdleInTransactionSessionTimeout, TransactionTimeout)
# The name of a lock.
_MIGRATION_LOCK: Final = 0x6D696772

_MANY_DIGITS: Final = re.compile(r"\d{19}")  # may also match in texts, hence the second check


class _Text(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\x00", "\ufffd") if "\x00" in obj else obj)


class _UnknownText(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\x00", "\ufffd") if "\x00" in obj else obj)


class _Json(JsonbDumper):
    def dump(self, obj: Any) -> Any:
        data = super().dump(obj)
        if data is None or _NUL_IN_JSON not in bytes(data):
            return data
        return json.dumps(storable(json.loads(bytes(data)))).encode()


class _JsonText(TextLoader):
    """Loads JSON as text, which Django parses."""

    def load(self, data: Any) -> str:
        text = str(super().load(data))
        return json.dumps(json.loads(text, parse_int=_number)) if _MANY_DIGITS.search(text) else text


def _number(digits: str) -> int | float:
    """Restore floats that PostgreSQL printed as integers of more than 64 bits."""
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else float(value)


class _ErrorWrapper(DatabaseErrorWrapper):
    """Raises errors of the server's state as what they are: the same statement may succeed later."""

    wrapper: "DatabaseWrapper"

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, _OUTAGES):
            # With another server by then: this one may be the standby since a failover, and would keep the connection.
            self.wrapper.close_at = 0.0
            raise OperationalError(*error.args).with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Registers the adapters above on every connection."""

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        return _ErrorWrapper(self)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        for kind, dumper in ((str, _Text), (str, _UnknownText), (Jsonb, _Json)):
            connection.adapters.register_dumper(kind, dumper)
        connection.adapters.register_loader("jsonb", _JsonText)
        connection.adapters.register_loader("json", TextLoader)
        return connection

    def chunked_cursor(self) -> Any:
        """Return a cursor that reads in chunks; outside of a transaction, one that reads all rows at once.

        There, PostgreSQL would keep the result for the connection, and a pooler may pass the next chunk's query to
        another one.
        """
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    @contextmanager
    def migration_lock(self) -> Iterator[None]:
        """Wait until no other process migrates the database.

        The lock is that of a transaction beside the migrations: poolers exchange the connections of a session.
        """
        other = self.copy()
        try:
            with other.cursor() as cursor:
                other.set_autocommit(False)
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK])
            yield
        finally:
            # A lost connection has lost the lock, too.
            with suppress(Error):
                other.close()
