"""A session's database row, as written by the worker that owns it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Now
from pydantic import BaseModel

from replay.core.errors import CancelRequest, LostOwnership, SessionHandover
from replay.core.vocabulary import FINAL_STATUSES, SessionStatus
from replay.execution import event_log
from replay.live import shutdown
from replay.models import ReplaySession
from traces.storage import statements
from traces.transitions import move


class SessionRow:
    """Writes the row only while `owner` owns the session."""

    def __init__(self, session: ReplaySession, owner: str) -> None:
        self.session = session
        self.owner = owner

    @property
    def id(self) -> UUID:
        return self.session.id

    @property
    def run_id(self) -> UUID:
        if self.session.run_id is None:
            raise RuntimeError(f"session {self.session.id} has no run yet")
        return self.session.run_id

    def update(self, **columns: object) -> None:
        """Write columns; raises `LostOwnership` if the session has another owner."""
        if not self._mine().filter(status=SessionStatus.RUNNING).update(heartbeat_at=Now(), **columns):
            raise LostOwnership

    def record(self, columns: Mapping[str, object], *messages: BaseModel | str) -> None:
        """Write columns and append messages; raises `LostOwnership` like `update`."""
        columns = {"heartbeat_at": datetime.now(UTC), **columns}
        ownership = {"owner": self.owner, "status": str(SessionStatus.RUNNING)}
        if not event_log.write(self.id, *messages, columns=columns, condition=ownership):
            raise LostOwnership

    def leave(self, status: SessionStatus, **columns: object) -> None:
        """Move the session to another status and give up ownership; raises `LostOwnership` like `update`."""
        if status in FINAL_STATUSES:
            columns["variables"] = {}
        if not move(self._mine(), SessionStatus.RUNNING, status, owner="", heartbeat_at=Now(), **columns):
            raise LostOwnership

    def _mine(self) -> QuerySet[ReplaySession]:
        return ReplaySession.objects.filter(id=self.id, owner=self.owner)

    def append_messages(self, *messages: BaseModel | str) -> None:
        """Append to the session's event log."""
        event_log.append(self.id, *messages)

    def check(self) -> None:
        """Raise if the session is cancelled, has another owner, or this worker is shutting down."""
        is_cancelled, owner = self._cancellation_and_owner()
        if owner != self.owner:
            raise LostOwnership
        if is_cancelled:
            raise CancelRequest
        if shutdown.is_requested():
            raise SessionHandover

    def should_abandon(self, *, repeatable: bool) -> bool:
        """True if the call in flight should be abandoned; `repeatable`: it may be made again."""
        is_cancelled, owner = self._cancellation_and_owner()
        # A call that another worker must not repeat is awaited even after a takeover: its answer may still arrive.
        return is_cancelled or (repeatable and owner != self.owner)

    def _cancellation_and_owner(self) -> tuple[bool, str]:
        row = statements.select(ReplaySession, ("cancel_requested", "owner"), {"id": self.id})
        if row is None:
            raise LostOwnership
        return bool(row[0]), row[1]
