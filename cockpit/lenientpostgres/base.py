"""The PostgreSQL backend that takes any text.

PostgreSQL holds no NUL character in a text or in JSON, and models, tools and people send them. What is given is
therefore stored with U+FFFD, the replacement character, in their place; payloads are bytes and keep theirs.
"""

import json
from typing import Any

from django.db.backends.postgresql import base
from psycopg.types.json import Jsonb, JsonbDumper
from psycopg.types.string import StrDumper, StrDumperUnknown

from traces.checking import storable

_NUL_IN_JSON = b"\\u0000"  # also part of an escaped backslash with digits, hence another look


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


class DatabaseWrapper(base.DatabaseWrapper):
    """Every connection writes texts and JSON with what `_Text` and `_Json` make of them."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        for kind, dumper in ((str, _Text), (str, _UnknownText), (Jsonb, _Json)):
            connection.adapters.register_dumper(kind, dumper)
        return connection
