"""References to runs and steps in a report."""

from collections.abc import Sequence
from typing import Final, overload

from pydantic import TypeAdapter

from diffing.compare.comparison import Pair
from diffing.compare.run_side import RunFacts, SideStep
from diffing.schemas.report import RunRef
from diffing.schemas.sections import AlignedPair
from diffing.schemas.terms import StepRef

_PAIRS: Final = TypeAdapter(list[AlignedPair])


@overload
def step_ref(step: SideStep) -> StepRef: ...
@overload
def step_ref(step: None) -> None: ...
@overload
def step_ref(step: SideStep | None) -> StepRef | None: ...
def step_ref(step: SideStep | None) -> StepRef | None:
    """Reference to one side of a pair."""
    return StepRef.model_validate(_step_fields(step)) if step else None


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
    """The pairs as the report lists them; validated at once, because there is one per step."""
    return _PAIRS.validate_python([_pair_fields(pair) for pair in pairs])


def _pair_fields(pair: Pair) -> dict[str, object]:
    return {
        "base": _step_fields(pair.base),
        "candidate": _step_fields(pair.candidate),
        "relation": pair.relation,
        "found_by": pair.found_by,
        "confidence": pair.confidence,
        "changes": pair.changes,
    }


def _step_fields(step: SideStep | None) -> dict[str, object] | None:
    if step is None:
        return None
    return {
        "id": step.id,
        "sequence_no": step.sequence_no,
        "type": step.type,
        "name": step.display_name,
        "summary": step.summary,
        "status": step.status,
        "label": step.label,
        "reason": step.reason,
    }
