"""Through which steps a cause worked: with the base's answer at one of them, does the old outcome come back? Pure."""

from collections.abc import Sequence
from typing import Final

from diffing.schemas.evidence import Mediator
from replay.proofs.core.types import Ask, Atoms, Stage
from replay.proofs.ladder.facts import Asked, Facts
from replay.proofs.ladder.search import Steps

_SCANNED: Final = 8  # stages that are all tried; of more, only those about the two ends
_SHOWN: Final = 40


def clamp(stage: Stage, cause: Atoms) -> Ask:
    """The candidate as it is, but for one step that answers as its counterpart in the base."""
    return Ask(applied=cause, side="candidate", clamp=stage.number)


def find(facts: Facts, stages: Sequence[Stage], applied: Atoms) -> Steps[None]:
    """Try the stages: all of a few; else halve towards the first one that counts, and scan where that misleads."""
    if len(stages) <= _SCANNED:
        yield from _scan(facts, stages, applied)
        return
    entry = yield from _entry(facts, stages, applied)
    around = stages[max(0, entry - 1) : entry + 2] if entry is not None else stages
    yield from _scan(facts, around, applied)
    if entry is None or any(restores(facts, stage, applied) is False for stage in around[1:]):
        yield from _scan(facts, stages, applied)


def restores(facts: Facts, stage: Stage, applied: Atoms) -> bool | None:
    """Whether the base's outcome came back; None: not known."""
    seen = facts.seen(clamp(stage, applied))
    if seen is None or not seen.settled:
        return None
    if seen.assumed and seen.outcome == "candidate":
        return None  # that nothing came of the other answer was assumed
    return seen.outcome == "base"


def chain(facts: Facts, stages: Sequence[Stage], applied: Atoms) -> list[Mediator]:
    """The tested mediators in order; where none could be tested the stages as the recordings suggest them."""
    tested = [stage for stage in stages if restores(facts, stage, applied)]
    if tested:
        return _told(tested, "tested")
    untested = [stage for stage in stages if restores(facts, stage, applied) is None]
    return _told(untested[:_SHOWN], "inferred")


def _entry(facts: Facts, stages: Sequence[Stage], applied: Atoms) -> Steps[int | None]:
    """Where the first mediator is, if all stages after it are mediators too; None: that is not so."""
    yield from _scan(facts, stages[-1:], applied)
    if not restores(facts, stages[-1], applied):
        return None
    low, high = -1, len(stages) - 1  # `high` restores, `low` does not
    while high - low > 1:
        middle = (low + high) // 2
        yield from _scan(facts, stages[middle : middle + 1], applied)
        if restores(facts, stages[middle], applied):
            high = middle
        else:
            low = middle
    return high


def _scan(facts: Facts, stages: Sequence[Stage], applied: Atoms) -> Steps[None]:
    for stage in stages:
        if restores(facts, stage, applied) is None:
            yield Asked(ask=clamp(stage, applied), purpose="clamp")


def _told(stages: Sequence[Stage], evidence: str) -> list[Mediator]:
    last = len(stages) - 1
    return [
        Mediator(
            step=stage.step,
            text=stage.text,
            evidence="tested" if evidence == "tested" else "inferred",
            role="entry" if at == 0 else "commitment" if at == last else "between",
        )
        for at, stage in enumerate(stages)
    ]
