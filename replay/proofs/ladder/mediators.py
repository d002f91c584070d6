"""Find the steps through which a cause worked: does the base's answer at a step restore the base's outcome? Pure."""

from collections.abc import Sequence
from typing import Final, Literal

from diffing.schemas.evidence import Mediator, ProbeOutcome
from replay.proofs.core.types import Atoms, PathStep, ProbeSpec
from replay.proofs.ladder.facts import Facts, ProbeRequest
from replay.proofs.ladder.search import Steps

# Up to this many steps, all are tried; of more, only those around the first mediator.
_FULL_SCAN: Final = 8
_MAX_SHOWN: Final = 40


def clamp(step: PathStep, atoms: Atoms) -> ProbeSpec:
    """The candidate, with all of its changes, except that one step answers as its counterpart in the base."""
    return ProbeSpec(atoms=atoms, side="candidate", clamp=step.number)


def find(facts: Facts, steps: Sequence[PathStep], atoms: Atoms) -> Steps[None]:
    """Try all of a few steps; of many, bisect to the first mediator, and scan everything if the bisection misleads."""
    if len(steps) <= _FULL_SCAN:
        yield from _scan(facts, steps, atoms)
        return
    entry = yield from _entry(facts, steps, atoms)
    neighbours = steps[max(0, entry - 1) : entry + 2] if entry is not None else steps
    yield from _scan(facts, neighbours, atoms)
    if entry is None or any(restores(facts, step, atoms) is False for step in neighbours[1:]):
        yield from _scan(facts, steps, atoms)


def restores(facts: Facts, step: PathStep, atoms: Atoms) -> bool | None:
    """Return whether the base's outcome was restored; None: unknown."""
    result = facts.result(clamp(step, atoms))
    if result is None or not result.is_settled:
        return None
    # An unchanged outcome shows nothing if it was assumed that the answer had no effect.
    if result.assumed_steps and result.outcome == ProbeOutcome.CANDIDATE:
        return None
    return result.outcome == ProbeOutcome.BASE


def chain(facts: Facts, steps: Sequence[PathStep], atoms: Atoms) -> list[Mediator]:
    """The tested mediators in order; if none could be tested, the steps that the recordings suggest."""
    tested_steps = [step for step in steps if restores(facts, step, atoms)]
    if tested_steps:
        return _mediators(tested_steps, "tested")
    untested_steps = [step for step in steps if restores(facts, step, atoms) is None]
    return _mediators(untested_steps[:_MAX_SHOWN], "inferred")


def _entry(facts: Facts, steps: Sequence[PathStep], atoms: Atoms) -> Steps[int | None]:
    """The index of the first mediator, provided that all steps after it are mediators too; None otherwise."""
    yield from _scan(facts, steps[-1:], atoms)
    if not restores(facts, steps[-1], atoms):
        return None
    # `high` restores the outcome, `low` does not.
    low, high = -1, len(steps) - 1
    while high - low > 1:
        middle = (low + high) // 2
        yield from _scan(facts, steps[middle : middle + 1], atoms)
        if restores(facts, steps[middle], atoms):
            high = middle
        else:
            low = middle
    return high


def _scan(facts: Facts, steps: Sequence[PathStep], atoms: Atoms) -> Steps[None]:
    for step in steps:
        if restores(facts, step, atoms) is None:
            yield ProbeRequest(spec=clamp(step, atoms), purpose="clamp")


def _mediators(steps: Sequence[PathStep], evidence: Literal["tested", "inferred"]) -> list[Mediator]:
    last = len(steps) - 1
    return [
        Mediator(
            step=step.step,
            text=step.text,
            evidence=evidence,
            role="entry" if index == 0 else "commitment" if index == last else "between",
        )
        for index, step in enumerate(steps)
    ]
