"""Placeholders: the outputs of steps that a replay did not run. Pure."""

from typing import Final, Protocol

from traces.core.vocabulary import Reason, StepStatus

# The beginning of every placeholder.
MARK: Final = "[Forkpoint]"
FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED})
# A denied call has an answer that the agent is meant to see. Steps with these reasons have none.
_PLACEHOLDER_REASONS: Final = frozenset({Reason.SIDE_EFFECT_BLOCKED, Reason.POLICY_FALLBACK})


class _Step(Protocol):
    """The fields of a step that say how it got its output."""

    @property
    def reason(self) -> str: ...
    @property
    def status(self) -> str: ...


def is_placeholder(step: _Step | None) -> bool:
    """True if the step's output is a placeholder."""
    return step is not None and step.reason in _PLACEHOLDER_REASONS


def idle_side(base: _Step | None, candidate: _Step | None) -> str:
    """The side that did not run a paired step; empty if both ran it."""
    if candidate is not None and candidate.reason in _PLACEHOLDER_REASONS:
        return "candidate"
    return "base" if base is not None and base.reason in _PLACEHOLDER_REASONS else ""


def untested_side(base: _Step | None, candidate: _Step | None) -> str:
    """The side that did not run a step that failed in the other: it neither failed nor passed there."""
    side = idle_side(base, candidate)
    if not side:
        return ""
    live_step = base if side == "candidate" else candidate
    return side if live_step is not None and not is_placeholder(live_step) and live_step.status in FAILED else ""
