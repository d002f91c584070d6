"""The run of this program on the server, whose gateway sees its model calls: the SDK adds all other steps."""

import itertools
import os
import time
from typing import Final, NamedTuple

VARIABLE: Final = "FORKPOINT_GATEWAY_RUN"
# The address of the session, for what has no variable of its own, such as MCP servers.
GATEWAY: Final = "FORKPOINT_GATEWAY"
# The header of a model call that names the step which it is made inside of: the gateway sees the call alone.
STEP_HEADER: Final = "x-forkpoint-step"
# The header with the thread or task that makes the call: those of one come in the same order each time.
LANE_HEADER: Final = "x-forkpoint-lane"
# The run and the step that this process was started inside of.
OUTER_STEP: Final = "FORKPOINT_STEP"
# Events of steps that are no model calls: those are the gateway's, which puts them into the step that they name.
_TYPES: Final = frozenset(
    {
        "tool_called",
        "tool_result",
        "retrieval_executed",
        "prompt_rendered",
        "validator_decision",
        "safety_decision",
        "step_started",
        "step_finished",
        "final_output",
    }
)
_BEGINNINGS: Final = frozenset({"tool_called", "step_started"})
_ENDINGS: Final = frozenset({"tool_result", "step_finished"})
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
        self._open_steps: set[str] = set()
        run_id, _, step = (os.environ.get(OUTER_STEP) or "").partition(" ")
        self.outer_step = step if run_id == id else ""

    @classmethod
    def from_environment(cls) -> "GatewayRun | None":
        """Return the run that `forkpoint record --gateway`, or a rerun, names in its program's environment."""
        id, _, start = (os.environ.get(VARIABLE) or "").partition(" ")
        return cls(id, float(start)) if id else None

    def place(self, run_id: str, step_id: str | None, parent_id: str | None, type: str) -> Place | None:
        """Return where an event of a run of the SDK belongs; None if the gateway records it or has no place for it."""
        if type not in _TYPES:
            return None
        key, parent = f"{run_id}-{step_id}", f"{run_id}-{parent_id}"
        if type in _BEGINNINGS:
            self._open_steps.add(key)
        elif type in _ENDINGS:
            self._open_steps.discard(key)
        return Place(key, (parent if parent in self._open_steps else self.outer_step) or None, self._number())

    def open_step(self, run_id: str, step_id: str) -> str:
        """Return the id that an open step of a run of the SDK has here; empty if it has none."""
        key = f"{run_id}-{step_id}"
        return key if key in self._open_steps else ""

    def _number(self) -> int:
        passed_us = int((time.monotonic() - self._start_s) * 1_000_000)
        # Processes that were forked at once count alike.
        salt = (next(self._salts) + os.getpid()) % (1 << _SALT_BITS)
        return (max(0, passed_us) << _SALT_BITS) | salt
