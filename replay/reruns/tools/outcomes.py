"""Recorded outcomes of calls as answers to an agent."""

from uuid import UUID

from replay.core.vocabulary import RerunDecision
from replay.reruns import recordings
from replay.reruns.core.playback import rename
from replay.reruns.core.renaming import Renaming
from replay.reruns.schemas import ToolAnswer


def load_answer(
    run_id: UUID, no: int, renaming: Renaming, *, decision: RerunDecision, step: int | None
) -> ToolAnswer | None:
    """Return what step `no` of a run says to a call, which is recorded `step`; None if it is lost or redacted."""
    outcome = recordings.load_outcome(run_id, no)
    if outcome is None:
        return None
    return ToolAnswer(
        decision=decision,
        output=rename(outcome.output, renaming),
        output_form=rename(outcome.form, renaming),
        error=renaming.rewrite(outcome.error),
        is_text=outcome.is_text,
        step=step,
        messages=[*outcome.messages],
        failure=outcome.failure,
        delay_s=outcome.delay_s,
    )
