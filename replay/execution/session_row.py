"""A session's row in the database, as the worker that owns it sees it."""

from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Now
from pydantic import BaseModel

from replay.core.errors import CancelRequest, LostOwnership, SessionHandover
from replay.core.vocabulary import SessionStatus
from replay.execution import event_log
from replay.live import shutdown
from replay.models import ReplaySession
from traces.transitions import move


class SessionRow:
    """Writes the row only while `owner` holds it."""

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
        """Write columns; raises `LostOwnership` where the session is in other hands."""
        if not self._mine().filter(status=SessionStatus.RUNNING).update(heartbeat_at=Now(), **columns):
            raise LostOwnership

    def leave(self, after: SessionStatus, **columns: object) -> None:
        """Work on it no more: another status, and no owner; raises `LostOwnership` like `update`."""
        if not move(self._mine(), SessionStatus.RUNNING, after, owner="", heartbeat_at=Now(), **columns):
            raise LostOwnership

    def _mine(self) -> QuerySet[ReplaySession]:
        return ReplaySession.objects.filter(id=self.id, owner=self.owner)

    def append_messages(self, *messages: BaseModel | str) -> None:
        """Tell the watchers of the session."""
        event_log.append(self.id, *messages)

    def check(self) -> None:
        """Raise when the operator or this worker wants to stop, or when somebody else owns the session by now."""
        cancelled, owner = ReplaySession.objects.values_list("cancel_requested", "owner").get(id=self.id)
        if owner != self.owner:
            raise LostOwnership
        if cancelled:
            raise CancelRequest
        if shutdown.is_requested():
            raise SessionHandover

    def is_unwanted(self, *, again: bool) -> bool:
        """Whether a call that is under way should be given up; `again`: it may be made again."""
        cancelled, owner = ReplaySession.objects.values_list("cancel_requested", "owner").get(id=self.id)
        # What another worker would not ask again is waited for: the answer may still come.
        return bool(cancelled) or (again and owner != self.owner)
