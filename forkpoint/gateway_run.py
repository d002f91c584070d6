"""The run that the server's gateway records of this program: the SDK adds the steps that the gateway cannot see."""

import itertools
import os
import time
from typing import Final, NamedTuple

VARIABLE: Final = "FORKPOINT_GATEWAY_RUN"
# The address of the session, for what has no variable of its own, such as MCP servers.
GATEWAY: Final = "FORKPOINT_GATEWAY"
# Events of steps that are no model calls. Groups would be empty: the model calls in them are those of the gateway.
_TYPES: Final = frozenset(
    {
        "tool_called",
        "tool_result",
        "retrieval_executed",
        "prompt_rendered",
        "validator_decision",
        "safety_decision",
    }
)
# As in the gateway: numbers are microseconds since the start of the run, and the low bits distinguish events.
_SALT_BITS: Final = 6


class Place(NamedTuple):
    """An event's place in the run of the gateway."""

    step_id: str
    parent_id: str | None
    number: int


class GatewayRun:
    """A run of the gateway. Its processes need no agreement: step ids contain those of their own runs."""

    def __init__(self, id: str, start: float) -> None:
        self.id = id
        # Later changes of the clock do not change the order of events.
        self._start_s = time.monotonic() - (time.time() - start)
        self._salts = itertools.count()
        self._open_tools: set[str] = set()

    @classmethod
    def from_environment(cls) -> "GatewayRun | None":
        """Return the run that `forkpoint record --gateway` names in its program's environment."""
        id, _, start = (os.environ.get(VARIABLE) or "").partition(" ")
        return cls(id, float(start)) if id else None

    def place(self, run_id: str, step_id: str | None, parent_id: str | None, type: str) -> Place | None:
        """Return where an event of a run of the SDK belongs; None if the gateway records it or has no place for it."""
        if type not in _TYPES:
            return None
        key, parent = f"{run_id}-{step_id}", f"{run_id}-{parent_id}"
        if type == "tool_called":
            self._open_tools.add(key)
        elif type == "tool_result":
            self._open_tools.discard(key)
        return Place(key, parent if parent in self._open_tools else None, self._number())

    def _number(self) -> int:
        passed_us = int((time.monotonic() - self._start_s) * 1_000_000)
        return (max(0, passed_us) << _SALT_BITS) | next(self._salts) % (1 << _SALT_BITS)
