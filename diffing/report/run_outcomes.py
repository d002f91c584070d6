"""The two runs of a report: how they relate, and how each ended. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diffing.compare.placeholders import idle_side, untested_side
from diffing.schemas.report import DiffReport, RunRef
from diffing.schemas.sections import AlignedPair
from diffing.schemas.terms import StepRef
from diffing.sentences import briefs
from diffing.sentences.briefs import BriefRun, RunEnd, RunRelation, RunState, UntestedStep
from diffing.sentences.text import format_value
from diffing.sentences.verdicts import RunSide
from traces.core.json_access import is_number
from traces.core.json_types import JSONValue
from traces.core.vocabulary import RunStatus, StepType

_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})
# The names that evaluations use for verdicts and for points.
_VERDICTS: Final = ("success", "passed", "solved", "resolved", "correct")
_POINTS: Final = ("reward", "score")
_STATES: Final[Mapping[str, RunState]] = {
    RunStatus.RUNNING: RunState.RUNNING,
    RunStatus.COMPLETED: RunState.COMPLETED,
    RunStatus.FAILED: RunState.FAILED,
    RunStatus.PARTIAL: RunState.PARTIAL,
}


def compared_line(report: DiffReport) -> str:
    """Both runs, and the first step that failed in one of them and was not run in the other."""
    base, candidate = (_brief_run(report, run, side) for run, side in _sides(report))
    untested_steps = [
        UntestedStep(number=step.sequence_no, name=step_label(step), side=side)
        for side, step in _untested_steps(report.pairs)
    ]
    runs = briefs.compared_runs(_relation(report.base, report.candidate), base, candidate)
    return " ".join([runs, *map(briefs.untested_step, untested_steps[:1])])


def acting_pairs(pairs: Sequence[AlignedPair]) -> Sequence[AlignedPair]:
    """The pairs that are not containers; all pairs if there are only containers."""
    return [pair for pair in pairs if type_of(pair) not in _CONTAINERS] or pairs


def type_of(pair: AlignedPair) -> StepType:
    """The type of a pair's steps."""
    step = pair.candidate or pair.base
    assert step is not None  # a pair has at least one side
    return step.type


def step_label(step: StepRef) -> str:
    """The type and name of a step, without a name that repeats the type."""
    return step.type if step.name == step.type else f"{step.type} {step.name}"


def idle_notes(pair: AlignedPair) -> list[str]:
    """The note that one side did not run a step and has a placeholder as its output."""
    side = idle_side(pair.base, pair.candidate)
    return [briefs.not_run(side)] if side and type_of(pair) not in _CONTAINERS else []


def _sides(report: DiffReport) -> tuple[tuple[RunRef, RunSide], tuple[RunRef, RunSide]]:
    return (report.base, "base"), (report.candidate, "candidate")


def _relation(base: RunRef, candidate: RunRef) -> RunRelation:
    if base.id == candidate.id:
        return RunRelation.SAME_RUN
    if candidate.source_run == base.id:
        return RunRelation.REPLAY
    if base.source_run is not None and base.source_run == candidate.source_run:
        return RunRelation.TWO_REPLAYS
    if base.original == candidate.id:
        return RunRelation.BASE_REPLAYS_CANDIDATE
    if candidate.original == base.id:
        return RunRelation.CANDIDATE_REPLAYS_BASE
    is_recorded = base.source_run is None and candidate.source_run is None
    return RunRelation.RECORDINGS if is_recorded else RunRelation.UNRELATED_REPLAY


def _brief_run(report: DiffReport, run: RunRef, side: RunSide) -> BriefRun:
    """One run; a completed run that did not run a failed check only "ran to its end"."""
    state = _STATES[run.status]
    if state is RunState.COMPLETED and any(idle == side for idle, _ in _untested_steps(report.pairs)):
        state = RunState.RAN_TO_END
    success, points = _evaluation(report.scores.imported.get(side))
    return BriefRun(
        app=run.app,
        is_replay=run.source_run is not None,
        end=RunEnd(state=state, success=success, points=points),
        fork_step=run.fork_sequence_no or 0,
    )


def _evaluation(scores: JSONValue) -> tuple[bool | None, str]:
    """The recorded verdict and points of an evaluation; None and an empty text if there are none."""
    if not isinstance(scores, dict):
        return None, ""
    success = next((verdict for name in _VERDICTS if isinstance(verdict := scores.get(name), bool)), None)
    points = (f"{name} {format_value(value)}" for name in _POINTS if is_number(value := scores.get(name)))
    return success, next(points, "")


def _untested_steps(pairs: Sequence[AlignedPair]) -> Iterator[tuple[RunSide, StepRef]]:
    """The steps that failed on one side, each with the side that did not run it."""
    for pair in pairs:
        if pair.relation != "changed" or type_of(pair) in _CONTAINERS:
            continue
        side = untested_side(pair.base, pair.candidate)
        if side == "candidate" and pair.base is not None:
            yield "candidate", pair.base
        elif side == "base" and pair.candidate is not None:
            yield "base", pair.candidate
