"""References to runs and steps in a report."""

from collections.abc import Sequence
from typing import overload

from diffing.compare.comparison import Pair
from diffing.compare.run_side import RunFacts, SideStep
from diffing.schemas.report import RunRef
from diffing.schemas.sections import AlignedPair
from diffing.schemas.terms import StepRef


@overload
def step_ref(step: SideStep) -> StepRef: ...
@overload
def step_ref(step: None) -> None: ...
@overload
def step_ref(step: SideStep | None) -> StepRef | None: ...
def step_ref(step: SideStep | None) -> StepRef | None:
    """Reference to one side of a pair."""
    if step is None:
        return None
    return StepRef(
        step.id,
        step.sequence_no,
        step.type,
        step.display_name,
        step.summary,
        step.status,
        step.label,
        step.reason,
    )


def run_ref(run: RunFacts) -> RunRef:
    return RunRef(
        id=run.id,
        name=run.name,
        app=run.app,
        status=run.status,
        source=run.source,
        fork_sequence_no=run.fork_sequence_no,
        source_run=run.source_run,
        original=run.original,
    )


def aligned_pairs(pairs: Sequence[Pair]) -> list[AlignedPair]:
    """The pairs as the report lists them."""
    return [
        AlignedPair(
            step_ref(pair.base),
            step_ref(pair.candidate),
            pair.relation,
            pair.found_by,
            pair.confidence,
            pair.changes,
        )
        for pair in pairs
    ]
