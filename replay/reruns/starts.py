"""Starts of an agent in its rerun: what a killed agent asked may arrive after the next start, and must not count."""

from typing import Final

from replay.core.errors import SessionConflict
from replay.models import Rerun
from replay.reruns import queries
from traces.errors import NotFound

# Of the detail of a refused tool call: the process that asked about it ends.
AGENT_END: Final = "ends_agent"


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


def require_agent(rerun: Rerun) -> None:
    """Raise `SessionConflict` if the agent ends in this start, because a tool call was refused.

    What it has left behind, such as Claude Code under its SDK, may still ask; that is no part of what the agent did.
    """
    refused_calls = rerun.tool_calls.filter(attempt=rerun.attempt, **{f"detail__{AGENT_END}": True})
    if name := refused_calls.values_list("name", flat=True).first():
        raise SessionConflict(f"the agent ends, because its call of {name} was refused")
