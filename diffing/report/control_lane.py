"""The third lane: what replaying the base without the changes alters by itself. Pure."""

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from diffing.schemas.report import AlignedPair, DiffReport, LaneStep, UnchangedLane
from traces.core.vocabulary import StepType

ALSO: Final = "also without the changes"
_DIFFERS: Final = frozenset({"changed", "removed"})
_HOLDERS: Final = frozenset({StepType.AGENT, StepType.TURN})


def lane(
    *, id: UUID, created_at: datetime, report: DiffReport, unchanged: DiffReport, session: UUID | None, how: str
) -> UnchangedLane:
    """Set the report of base and unchanged replay beside the report of base and candidate."""
    steps = _steps(report, unchanged)
    differs = _answer_differs(unchanged)
    return UnchangedLane(
        id=id,
        created_at=created_at,
        run=unchanged.candidate,
        diff=unchanged.id,
        session=session,
        how=how,
        sentence=_sentence(steps, differs),
        answer_differs=differs,
        scores=unchanged.scores,
        added=sum(pair.relation == "added" for pair in unchanged.pairs),
        steps=steps,
    )


def altered(found: UnchangedLane | None) -> set[UUID]:
    """The base's steps that come out otherwise without any change."""
    return {step.base.id for step in found.steps if step.without_changes in _DIFFERS} if found else set()


def _steps(report: DiffReport, unchanged: DiffReport) -> list[LaneStep]:
    alone = {pair.base.id: pair for pair in unchanged.pairs if pair.base}
    found = []
    for pair in report.pairs:
        other = alone.get(pair.base.id) if pair.base else None
        if pair.base and other and _differ((pair, other)):
            found.append(
                LaneStep(
                    base=pair.base,
                    candidate=pair.candidate,
                    unchanged=other.candidate,
                    with_changes=pair.relation,
                    without_changes=other.relation,
                    changes=other.changes,
                )
            )
    return found


def _differ(pairs: Collection[AlignedPair]) -> bool:
    """Containers only repeat what is in them."""
    return any(pair.relation in _DIFFERS and pair.base and pair.base.type not in _HOLDERS for pair in pairs)


def _answer_differs(unchanged: DiffReport) -> bool:
    """Whether the last output came out otherwise, or the last model step where there is no output."""
    for wanted in (StepType.OUTPUT, StepType.MODEL):
        pairs = [pair for pair in unchanged.pairs if pair.base and pair.base.type == wanted]
        if pairs:
            return pairs[-1].relation in _DIFFERS
    return False


def _sentence(steps: Collection[LaneStep], answer_differs: bool) -> str:
    changed = [step for step in steps if step.with_changes in _DIFFERS]
    also = sum(step.without_changes in _DIFFERS for step in changed)
    if answer_differs:
        return (
            "Replayed without the changes, the final answer differs as well: the difference cannot be blamed on the "
            f"changes alone. {_of(also, len(changed))} also without them."
        )
    if not any(step.without_changes in _DIFFERS for step in steps):
        return "Replayed without the changes, every step comes out as before: nothing here is due to replaying itself."
    return (
        f"Replayed without the changes, the final answer stays as it was. {_of(also, len(changed))} also without them."
    )


def _of(count: int, total: int) -> str:
    return f"{count:,} of the {total:,} differing step{'' if total == 1 else 's'} differ{'s' if count == 1 else ''}"
