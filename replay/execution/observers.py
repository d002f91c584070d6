"""Session observers: the interface of features to the execution of their sessions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from uuid import UUID

from django.db.models import QuerySet

from replay.models import ReplaySession


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedRecordings:
    """What answers the calls of a session besides its own recording, in place of all runs of its app.

    `sessions` are those of other agents whose live answers count already while they run. `load_runs` returns the runs
    in the order in which they answer. Read the calls of the sessions first: one that ends meanwhile is a run by then.
    """

    sessions: Sequence[UUID]
    load_runs: Callable[[], Sequence[UUID]]


class SessionObserver:
    """Session events, reported in their transaction; a feature overrides the methods it needs."""

    def call_intended(self, session_id: UUID, step: int) -> None:
        """A live call is about to go out; raises `ReplayFailure` to prevent it."""

    def call_paid(self, session_id: UUID, cost_usd: Decimal) -> None:
        """A live call has been paid for."""

    def session_changed(self, session_id: UUID) -> None:
        """The session's row has changed."""

    def run_sealed(self, run_id: UUID) -> None:
        """The run of a session is sealed."""

    def wants_diff(self, session_id: UUID) -> bool:
        """False if a finished session is compared with its source only on request."""
        return True

    def startable(self, pending: QuerySet[ReplaySession]) -> QuerySet[ReplaySession]:
        """Pending sessions that may start now."""
        return pending

    def shared_recordings(self, session_id: UUID) -> SharedRecordings | None:
        """What answers the calls of a session whose answers others share; None for any other session.

        Until the transaction ends, no other session of those that share them looks for an answer.
        """
        return None


_loaders: list[Callable[[], Sequence[SessionObserver]]] = []


def register(load: Callable[[], Sequence[SessionObserver]]) -> None:
    """Name what loads the observers at the first event: it imports all features, which few commands need."""
    _loaders.append(load)


@cache
def _observers() -> list[SessionObserver]:
    return [observer for load in _loaders for observer in load()]


def call_intended(session_id: UUID, step: int) -> None:
    for observer in _observers():
        observer.call_intended(session_id, step)


def call_paid(session_id: UUID, cost_usd: Decimal) -> None:
    for observer in _observers():
        observer.call_paid(session_id, cost_usd)


def session_changed(session_id: UUID) -> None:
    for observer in _observers():
        observer.session_changed(session_id)


def run_sealed(run_id: UUID) -> None:
    for observer in _observers():
        observer.run_sealed(run_id)


def wants_diff(session_id: UUID) -> bool:
    return all(observer.wants_diff(session_id) for observer in _observers())


def startable(pending: QuerySet[ReplaySession]) -> QuerySet[ReplaySession]:
    for observer in _observers():
        pending = observer.startable(pending)
    return pending


def shared_recordings(session_id: UUID) -> SharedRecordings | None:
    recordings = (observer.shared_recordings(session_id) for observer in _observers())
    return next((item for item in recordings if item is not None), None)
