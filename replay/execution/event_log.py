"""Telling the watchers of a session: messages in a table, with a sequence of their own, and a wake-up on commit."""

from typing import Final
from uuid import UUID

from django.db import connection, transaction
from pydantic import BaseModel

from replay.execution import observers
from replay.models import ReplaySession, SessionMessage
from traces import notify
from traces.core.json_types import JSONObject
from traces.storage import bulk

_COLUMNS: Final = ("session", "seq", "type", "body")


def append(session_id: UUID, *messages: BaseModel | str) -> None:
    """Add messages; a plain `session` says that the session itself changed."""
    with transaction.atomic(savepoint=False):  # several for each live call: what fails here fails as a whole anyway
        first = _last_seq(session_id, len(messages)) - len(messages) + 1
        rows = [_row(session_id, seq, message) for seq, message in enumerate(messages, first)]
        bulk.insert(SessionMessage, _COLUMNS, rows)
        notify.touch(f"replay.{session_id}")
        if "session" in messages:
            observers.session_changed(session_id)


def _last_seq(session_id: UUID, more: int) -> int:
    """Count so many messages, and answer the number of the last, in one statement."""
    name, meta = connection.ops.quote_name, ReplaySession._meta
    key = meta.pk.get_db_prep_value(session_id, connection)
    statement = f"UPDATE {name(meta.db_table)} SET last_seq = last_seq + %s WHERE {name('id')} = %s RETURNING last_seq"
    with connection.cursor() as cursor:
        cursor.execute(statement, [more, key])
        return int(cursor.fetchone()[0])


def _row(session_id: UUID, seq: int, message: BaseModel | str) -> tuple[UUID, int, str, JSONObject]:
    if isinstance(message, str):
        return session_id, seq, message, {}
    body = message.model_dump(mode="json", exclude={"seq", "type"})
    return session_id, seq, getattr(message, "type", ""), body
