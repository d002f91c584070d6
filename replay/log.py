"""Telling the watchers of a session: messages in a table, with a sequence of their own, and a wake-up on commit."""

from uuid import UUID

from django.db import transaction
from django.db.models import F
from pydantic import BaseModel

from replay.experiments import progress
from replay.models import ReplaySession, SessionMessage
from traces import live


def say(session_id: UUID, *messages: BaseModel | str) -> None:
    """Add messages; a plain `session` says that the session itself changed."""
    with transaction.atomic():
        ReplaySession.objects.filter(id=session_id).update(last_seq=F("last_seq") + len(messages))
        last = ReplaySession.objects.values_list("last_seq", flat=True).get(id=session_id)
        first = last - len(messages) + 1
        SessionMessage.objects.bulk_create(
            [_row(session_id, seq, message) for seq, message in enumerate(messages, first)]
        )
        live.touch(f"replay.{session_id}")
        if "session" in messages:
            progress.touch(session_id)


def _row(session_id: UUID, seq: int, message: BaseModel | str) -> SessionMessage:
    if isinstance(message, str):
        return SessionMessage(session_id=session_id, seq=seq, type=message)
    body = message.model_dump(mode="json", exclude={"seq", "type"})
    return SessionMessage(session_id=session_id, seq=seq, type=getattr(message, "type", ""), body=body)
