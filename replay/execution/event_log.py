"""Session event log: append sequenced messages, and notify subscribers on commit."""

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
    """Append messages; the plain text `session` reports a change of the session itself."""
    # No savepoint: there are several of these for each live call, and a failure aborts the outer transaction anyway.
    with transaction.atomic(savepoint=False):
        first = _reserve_seqs(session_id, len(messages)) - len(messages) + 1
        rows = [_row(session_id, seq, message) for seq, message in enumerate(messages, first)]
        bulk.insert(SessionMessage, _COLUMNS, rows)
        notify.touch(f"replay.{session_id}")
        if "session" in messages:
            observers.session_changed(session_id)


def _reserve_seqs(session_id: UUID, count: int) -> int:
    """Reserve sequence numbers and return the last, in one statement."""
    name, meta = connection.ops.quote_name, ReplaySession._meta
    key = meta.pk.get_db_prep_value(session_id, connection)
    statement = f"UPDATE {name(meta.db_table)} SET last_seq = last_seq + %s WHERE {name('id')} = %s RETURNING last_seq"
    with connection.cursor() as cursor:
        cursor.execute(statement, [count, key])
        return int(cursor.fetchone()[0])


def _row(session_id: UUID, seq: int, message: BaseModel | str) -> tuple[UUID, int, str, JSONObject]:
    if isinstance(message, str):
        return session_id, seq, message, {}
    body = message.model_dump(mode="json", exclude={"seq", "type"})
    return session_id, seq, getattr(message, "type", ""), body
