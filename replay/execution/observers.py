"""Who hears of sessions: the features that make sessions for purposes of their own."""

from collections.abc import Iterable
from decimal import Decimal
from uuid import UUID


class SessionObserver:
    """What happens to sessions, told in the transaction in which it happens; a feature takes what concerns it."""

    def call_intended(self, session_id: UUID, step: int) -> None:
        """A live call is about to go out; raises `Stopped` where it must not."""

    def call_paid(self, session_id: UUID, cost_usd: Decimal) -> None:
        """A live call cost so much."""

    def changed(self, session_id: UUID) -> None:
        """The session's row is another one."""

    def sealed(self, run_id: UUID) -> None:
        """The run of a session has come to its end."""


_observers: list[SessionObserver] = []


def compose(observers: Iterable[SessionObserver]) -> None:
    """Say who hears of sessions in this process; said once, where all features are known."""
    _observers[:] = observers


def call_intended(session_id: UUID, step: int) -> None:
    for observer in _observers:
        observer.call_intended(session_id, step)


def call_paid(session_id: UUID, cost_usd: Decimal) -> None:
    for observer in _observers:
        observer.call_paid(session_id, cost_usd)


def changed(session_id: UUID) -> None:
    for observer in _observers:
        observer.changed(session_id)


def sealed(run_id: UUID) -> None:
    for observer in _observers:
        observer.sealed(run_id)
