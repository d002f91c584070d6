"""Starts of an agent in its rerun: what a killed agent asked may arrive after the next start, and must not count."""

from replay.core.errors import SessionConflict
from replay.models import Rerun
from replay.reruns import queries
from traces.errors import NotFound


def find(text: str) -> tuple[Rerun, int | None]:
    """Return the rerun and the start that `ID.NUMBER` names; None for the start if it is not stated."""
    id, _, number = text.partition(".")
    if number and not (number.isascii() and number.isdecimal()):
        raise NotFound(f"there is no rerun {text}")
    return queries.find(id), int(number) if number else None


def require(rerun: Rerun, attempt: int | None) -> None:
    """Raise `SessionConflict` if the agent was started again after this start."""
    if attempt is not None and attempt != rerun.attempt:
        raise SessionConflict(f"the agent of rerun {rerun.id} was started again")
