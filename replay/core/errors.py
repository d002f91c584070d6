"""Errors that prevent or end a replay."""

from typing import Final
from uuid import UUID

from replay.core.plan import PlanRefusal
from traces.errors import ProblemError

# Refusals for the state of the run or of the agent's tools: the request itself is fine.
_CONFLICTS: Final = frozenset({"artifact_missing", "privacy_blocked", "source_not_sealed", "consent_required"})


class InvalidReplay(ProblemError):
    """A replay request asks for something that no replay can do."""

    status = 422

    def __init__(self, detail: str, *, code: str = "validation_error", where: str = "") -> None:
        super().__init__(detail, where=where)
        self.code = code  # type: ignore[misc]  # each refusal has its own


class ReplayRefusal(ProblemError):
    """The plan refuses the replay; nothing was started."""

    def __init__(self, refusal: PlanRefusal) -> None:
        super().__init__(refusal.detail, where=refusal.where)
        self.code = refusal.code  # type: ignore[misc]  # each refusal has its own
        self.status = 409 if refusal.code in _CONFLICTS else 422  # type: ignore[misc]  # it depends on the refusal
        self.step = refusal.step


class SessionConflict(ProblemError):
    """The session's status does not allow this operation."""

    code = "conflict"
    status = 409


class MissingReview(ProblemError):
    """The tool was not reviewed as safe."""

    code = "tool_review_required"
    status = 409


class SuggestionMismatch(ProblemError):
    """A tool was reviewed, or has a different suggestion than the one that was accepted."""

    code = "conflict"
    status = 409


class UnreadableAnswer(ProblemError):
    """The last output of a run cannot be read, and nothing else says what the run answered."""

    code = "artifact_missing"
    status = 409

    def __init__(self, run_id: UUID, step: int, problem: ProblemError) -> None:
        super().__init__(
            f"the answer of run {run_id} cannot be compared: the output of its step {step} is not readable ({problem})."
            " `forkpoint check --artifacts` lists what else is affected"
        )


class ReplayFailure(Exception):
    """The replay fails at a step, for the reason `code`."""

    def __init__(self, code: str, detail: str, *, step: int | None = None, finished: bool = False) -> None:
        super().__init__(detail)
        self.code = code
        self.step = step
        # True if the failing step is already stored.
        self.finished = finished


class CancelRequest(Exception):
    """The operator cancelled the session."""


class OperatorWait(Exception):
    """The session waits for the operator's answer."""


class SessionHandover(Exception):
    """This worker shuts down and hands the session over to another one."""


class LostOwnership(Exception):
    """Another worker has taken over the session; this one must not write any more."""
