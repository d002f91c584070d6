"""Control lane: the differences that a replay of the base without the changes has by itself. Pure."""

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from diffing.schemas.report import DiffReport, LaneStep, UnchangedLane
from diffing.schemas.sections import AlignedPair
from diffing.sentences import briefs
from diffing.sentences.briefs import LaneVerdict
from traces.core.vocabulary import StepType

_DIFFERS: Final = frozenset({"changed", "removed"})
_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})


def lane(
    *, id: UUID, created_at: datetime, report: DiffReport, unchanged: DiffReport, session: UUID | None, method: str
) -> UnchangedLane:
    """Combine the reports of candidate and unchanged replay; `method`: which calls ran again."""
    steps = _steps(report, unchanged)
    differs = _answer_differs(unchanged)
    return UnchangedLane(
        id=id,
        created_at=created_at,
        run=unchanged.candidate,
        diff=unchanged.id,
        session=session,
        how=method,
        sentence=_sentence(steps, differs),
        answer_differs=differs,
        scores=unchanged.scores,
        added=sum(pair.relation == "added" for pair in unchanged.pairs),
        steps=steps,
    )


def unstable_steps(unchanged: UnchangedLane | None) -> set[UUID]:
    """The steps of the base that differ even without the changes."""
    return {step.base.id for step in unchanged.steps if step.without_changes in _DIFFERS} if unchanged else set()


def _steps(report: DiffReport, unchanged: DiffReport) -> list[LaneStep]:
    unchanged_pairs = {pair.base.id: pair for pair in unchanged.pairs if pair.base}
    steps = []
    for pair in report.pairs:
        unchanged_pair = unchanged_pairs.get(pair.base.id) if pair.base else None
        if pair.base and unchanged_pair and _differ((pair, unchanged_pair)):
            steps.append(
                LaneStep(
                    base=pair.base,
                    candidate=pair.candidate,
                    unchanged=unchanged_pair.candidate,
                    with_changes=pair.relation,
                    without_changes=unchanged_pair.relation,
                    changes=unchanged_pair.changes,
                )
            )
    return steps


def _differ(pairs: Collection[AlignedPair]) -> bool:
    """True if a pair differs; containers only repeat their steps and do not count."""
    return any(pair.relation in _DIFFERS and pair.base and pair.base.type not in _CONTAINERS for pair in pairs)


def _answer_differs(unchanged: DiffReport) -> bool:
    """True if the last output step differs, or the last model step if there is no output step."""
    for step_type in (StepType.OUTPUT, StepType.MODEL):
        pairs = [pair for pair in unchanged.pairs if pair.base and pair.base.type == step_type]
        if pairs:
            return pairs[-1].relation in _DIFFERS
    return False


def _sentence(steps: Collection[LaneStep], answer_differs: bool) -> str:
    differing = [step for step in steps if step.with_changes in _DIFFERS]
    count = sum(step.without_changes in _DIFFERS for step in differing)
    if answer_differs:
        verdict = LaneVerdict.ANSWER_DIFFERS
    else:
        any_differs = any(step.without_changes in _DIFFERS for step in steps)
        verdict = LaneVerdict.STEPS_DIFFER if any_differs else LaneVerdict.SAME
    return briefs.lane(verdict, count, len(differing))
