"""Session event log: append sequenced messages, and notify subscribers on commit."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db import transaction
from pydantic import BaseModel

from replay.execution import observers
from replay.models import ReplaySession, SessionMessage
from traces import notify
from traces.core.json_types import JSONObject
from traces.storage import bulk, statements

_COLUMNS: Final = ("session", "seq", "type", "body")


def append(session_id: UUID, *messages: BaseModel | str) -> None:
    """Append messages; the plain text `session` reports a change of the session itself."""
    if not write(session_id, *messages, columns={}, condition={}):
        raise ReplaySession.DoesNotExist(f"there is no session {session_id}")


def write(
    session_id: UUID, *messages: BaseModel | str, columns: Mapping[str, object], condition: Mapping[str, object]
) -> bool:
    """Append messages and write columns of the session; False if its columns do not meet the condition."""
    # No savepoint: there are several of these for each live call, and a failure aborts the outer transaction anyway.
    with transaction.atomic(savepoint=False):
        last = statements.increase(ReplaySession, "last_seq", len(messages), columns, {"id": session_id, **condition})
        if last is None:
            return False
        first = last - len(messages) + 1
        rows = [_row(session_id, seq, message) for seq, message in enumerate(messages, first)]
        bulk.insert(SessionMessage, _COLUMNS, rows)
        notify.touch(f"replay.{session_id}")
        if "session" in messages:
            observers.session_changed(session_id)
    return True


def _row(session_id: UUID, seq: int, message: BaseModel | str) -> tuple[UUID, int, str, JSONObject]:
    if isinstance(message, str):
        return session_id, seq, message, {}
    body = message.model_dump(mode="json", exclude={"seq", "type"})
    return session_id, seq, getattr(message, "type", ""), body
