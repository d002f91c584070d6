"""PostgreSQL backend that accepts any text and returns numbers unchanged.

PostgreSQL holds no NUL character in a text or in JSON, and models, tools and people send them. What is given is
therefore stored with U+FFFD, the replacement character, in their place; payloads are bytes and keep theirs.
It also writes out the digits of 1e+300, which Python would read as an integer that no JSON of ours may hold.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from django.db import Error
from django.db.backends.postgresql import base
from psycopg.types.json import Jsonb, JsonbDumper
from psycopg.types.string import StrDumper, StrDumperUnknown, TextLoader

from traces.core.storable_text import storable

_NUL_IN_JSON = b"\\u0000"  # may also be part of an escaped backslash, hence the second check

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


class DatabaseWrapper(base.DatabaseWrapper):
    """Registers the adapters above on every connection."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        for kind, dumper in ((str, _Text), (str, _UnknownText), (Jsonb, _Json)):
            connection.adapters.register_dumper(kind, dumper)
        connection.adapters.register_loader("jsonb", _JsonText)
        return connection

    @contextmanager
    def migration_lock(self) -> Iterator[None]:
        """Wait until no other process migrates the database."""
        with self.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_MIGRATION_LOCK])
        try:
            yield
        finally:
            # A lost connection has lost the lock, too.
            with suppress(Error), self.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATION_LOCK])
