"""What is compared, and how each run ended: by itself, by whoever judged it, and as far as a replay can tell. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from diffing.compare.placeholders import idle_side, untested_side
from diffing.schemas.report import AlignedPair, DiffReport, RunRef
from diffing.schemas.terms import StepRef
from diffing.sentences.text import format_value
from traces.core.json_types import JSONValue
from traces.core.vocabulary import RunStatus, StepType

_HOLDERS: Final = frozenset({StepType.AGENT, StepType.TURN})
_VERDICTS: Final = ("success", "passed", "solved", "resolved", "correct")  # how evaluations name what they found
_POINTS: Final = ("reward", "score")


def compared(report: DiffReport) -> str:
    """Both runs in a sentence or two, and the checks that only one of them was put to."""
    return " ".join([_runs(report), *_untested(report.pairs)])


def doing(pairs: Sequence[AlignedPair]) -> Sequence[AlignedPair]:
    """The pairs that do something themselves: what agents and turns say, the steps in them say too."""
    return [pair for pair in pairs if kind_of(pair) not in _HOLDERS] or pairs


def kind_of(pair: AlignedPair) -> StepType:
    step = pair.candidate or pair.base
    assert step is not None  # a pair has at least one side
    return step.type


def not_run(pair: AlignedPair) -> list[str]:
    """That one side did not run the step, where it has a placeholder for its answer."""
    side = idle_side(pair.base, pair.candidate)
    return [f"not run in the {side}"] if side and kind_of(pair) not in _HOLDERS else []


def _runs(report: DiffReport) -> str:
    base, candidate = report.base, report.candidate
    if base.id == candidate.id:
        return f"A run of {base.app or 'an agent'} with itself."
    one, other = (_ended(report, run, side) for run, side in ((base, "base"), (candidate, "candidate")))
    if candidate.source_run == base.id:
        return f"Base: {_run(base)}, which {one}. Candidate: a replay of it{_from(candidate)}, which {other}."
    if base.source_run is not None and base.source_run == candidate.source_run:
        first, second = f"one{_from(base)}, which {one}", f"one{_from(candidate)}, which {other}"
        return f"Two replays of one run of {base.app or 'an agent'}. Base: {first}. Candidate: {second}."
    agents = " They are runs of different agents." if base.app != candidate.app else ""
    recorded = " They were recorded separately." if base.source_run is None and candidate.source_run is None else ""
    if candidate.original == base.id:
        recorded = " The candidate is an imported replay of the base."
    if base.original == candidate.id:
        recorded = " The base is an imported replay of the candidate."
    return f"Base: {_run(base)}, which {one}. Candidate: {_run(candidate)}, which {other}.{recorded}{agents}"


def _run(run: RunRef) -> str:
    return f"{'a replay' if run.source_run else 'a recorded run'}{f' of {run.app}' if run.app else ''}"


def _from(run: RunRef) -> str:
    return f" from step {run.fork_sequence_no} on" if run.fork_sequence_no else ""


def _ended(report: DiffReport, run: RunRef, side: str) -> str:
    """How the run ended; that it is done says nothing of a check that it was not put to."""
    idle = any(found == side for found, _ in _idle(report.pairs))
    done = "ran to its end" if idle and run.status == RunStatus.COMPLETED else run.status
    judged = _judged(report.scores.imported.get(side))
    return f"{'has not ended' if run.status == RunStatus.RUNNING else done}{f' ({judged})' if judged else ''}"


def _judged(scores: JSONValue) -> str:
    """What was recorded of whether the task was done; empty where nothing was."""
    if not isinstance(scores, dict):
        return ""
    found = next((scores[name] for name in _VERDICTS if isinstance(scores.get(name), bool)), None)
    said = [] if found is None else [f"its task is recorded as {'done' if found else 'failed'}"]
    said += [f"{name} {format_value(value)}" for name in _POINTS if _is_number(value := scores.get(name))][:1]
    return ", ".join(said)


def _is_number(value: JSONValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _untested(pairs: Sequence[AlignedPair]) -> Iterator[str]:
    """The first step that failed on one side and was not run on the other."""
    for side, ran in _idle(pairs):
        other = "base" if side == "candidate" else "candidate"
        named = "" if ran.name == ran.type else f" {ran.name}"
        yield (
            f"Step {ran.sequence_no} ({ran.type}{named}), which failed in the {other}, was not run in the {side}: "
            "whether it would pass there is not known."
        )
        return


def _idle(pairs: Sequence[AlignedPair]) -> Iterator[tuple[str, StepRef]]:
    """The sides that did not run a step that failed in the other, with the step as it ran."""
    for pair in pairs:
        if pair.relation != "changed" or kind_of(pair) in _HOLDERS:
            continue
        side = untested_side(pair.base, pair.candidate)
        ran = pair.base if side == "candidate" else pair.candidate
        if side and ran is not None:
            yield side, ran
