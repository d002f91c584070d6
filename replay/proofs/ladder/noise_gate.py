"""The noise gate and the repeats that confirm a finding: which samples to draw, and what they show. Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from diffing.schemas.evidence import GateStatus, Interval, NoiseGate, ProbeOutcome
from diffing.sentences.findings import GateReason
from diffing.sentences.proofs import REPEAT_FAILED, gate_reason
from replay.proofs.core.types import Atoms, ProbeResult, ProbeSpec, Side
from replay.proofs.ladder import statistics
from replay.proofs.ladder.facts import NO_ATOMS, ProbeRequest, Space
from replay.proofs.ladder.search import Steps
from replay.proofs.ladder.statistics import Decision

# Repeats whose outputs only show what is wording.
_PRACTICE: Final = 6
NOT_NEEDED: Final = NoiseGate(
    status=GateStatus.NOT_NEEDED,
    reason=gate_reason(GateReason.NOT_NEEDED),
    base_flips=0,
    base_n=0,
    base_interval=None,
    candidate_flips=0,
    candidate_n=0,
    candidate_interval=None,
    p=None,
)


class Repeats:
    """The repeats of one configuration drawn so far, in order."""

    def __init__(self, space: Space, atoms: Atoms, side: Side) -> None:
        self.space, self.atoms, self.side = space, atoms, side

    def spec(self, number: int) -> ProbeSpec:
        return ProbeSpec(atoms=self.atoms, side=self.side, repeat=number)

    def all(self) -> list[ProbeResult]:
        results: list[ProbeResult] = []
        while (result := self.space.facts.result(self.spec(len(results) + 1))) is not None:
            results.append(result)
        return results

    def outcomes(self) -> list[str]:
        return [result.outcome for result in self.all() if result.is_settled]

    def practice(self) -> int:
        """The number of first repeats that did not finish only because the agent's code got new inputs each time.

        Their outputs show which differences are wording, so later repeats may finish.
        """
        results = self.all()
        ends = (index for index, result in enumerate(results) if result.is_settled or not result.strays)
        return next(ends, len(results))

    def problem(self) -> str:
        """Why one of the repeats has no outcome; empty if all have one, or only the first ones have none."""
        results = self.all()
        later = results[self.practice() :] or results
        return next((result.missing or REPEAT_FAILED for result in later if not result.is_settled), "")

    def stray(self) -> bool:
        """True if repeats did not finish only because the agent's code got new inputs each time."""
        results = self.all()
        later = results[self.practice() :] or results
        open_results = [result for result in later if not result.is_settled]
        return bool(open_results) and all(result.strays for result in open_results)

    def missing(self, number: int) -> list[ProbeSpec]:
        """The repeats left to draw up to that number; none after one without an outcome: the next would fail too.

        Repeats that stray are drawn until one finishes, but not more than `_PRACTICE`.
        """
        practice, count = self.practice(), len(self.all())
        if practice == count:
            number = min(max(statistics.FIRST, practice + 1), _PRACTICE)
        elif self.problem():
            number = 0
        else:
            number += practice
        return [self.spec(repeat) for repeat in range(count + 1, number + 1)]


def draw(arms: Sequence[Repeats], number: int) -> Steps[None]:
    """Draw repeats of every arm up to that number; each arm learns from the first repeats of the others."""
    while missing := sorted((spec for arm in arms for spec in arm.missing(number)), key=lambda spec: spec.repeat):
        yield ProbeRequest(spec=missing[0], purpose="repeat", lookahead=tuple(missing[1:]))


def sides(space: Space) -> tuple[Repeats, Repeats]:
    return Repeats(space, NO_ATOMS, "base"), Repeats(space, space.all, "candidate")


def run(space: Space, most: int) -> Steps[None]:
    """Repeat both sides until chance is ruled out, cannot be, or the repeats are used up."""
    base, candidate = sides(space)
    number = min(statistics.FIRST, most)
    while most >= statistics.FIRST:
        yield from draw((base, candidate), number)
        practice = max(base.practice(), candidate.practice())
        if base.problem() or candidate.problem() or number + practice >= most:
            return
        if statistics.decide(base.outcomes(), candidate.outcomes(), most=most) is not Decision.CONTINUE:
            return
        number += 1


def verdict(space: Space, *, is_sampled: bool, most: int, finished: bool) -> NoiseGate:
    """The result of the repeats drawn so far; `finished`: no more will be drawn."""
    if not is_sampled:
        return NOT_NEEDED
    base, candidate = sides(space)
    outcomes = base.outcomes(), candidate.outcomes()
    decision = statistics.decide(*outcomes, most=max(min(map(len, outcomes)), statistics.FIRST) if finished else most)
    flips = [sum(outcome != side for outcome in own) for side, own in zip(_NAMES, outcomes, strict=True)]
    enough = min(map(len, outcomes)) >= statistics.FIRST
    status, reason = _status(decision, base.problem() or candidate.problem(), most, enough=enough)
    return NoiseGate(
        status=status,
        reason=reason,
        base_flips=flips[0],
        base_n=len(outcomes[0]),
        base_interval=_interval(flips[0], len(outcomes[0])),
        candidate_flips=flips[1],
        candidate_n=len(outcomes[1]),
        candidate_interval=_interval(flips[1], len(outcomes[1])),
        p=statistics.effect_p(*outcomes) if enough else None,
    )


def disagree(repeats: Repeats) -> bool:
    """True if repeats of one configuration differ from each other under the question.

    Too few of them for a test are compared with the recording as well: if the only repeat that could finish has another
    answer, answers to the same requests vary.
    """
    kinds = [_kind(result) for result in repeats.all() if result.is_settled]
    return len({*kinds, *([repeats.side] if len(kinds) < statistics.FIRST else [])}) > 1


def is_steady(repeats: Repeats) -> bool:
    """True if repeats of one configuration agree with each other and with its recording."""
    return {_kind(result) for result in repeats.all() if result.is_settled} <= {repeats.side}


def are_recognised(space: Space, *, by_most: bool) -> bool:
    """True if the outcome recorded for either side is the usual one of its repeats: the most frequent one.

    `by_most`: that of most repeats.
    """
    return all(_is_usual(side, by_most=by_most) for side in sides(space))


def _is_usual(repeats: Repeats, *, by_most: bool) -> bool:
    counts = Counter(_kind(result) for result in repeats.all() if result.is_settled)
    own = counts.pop(repeats.side, 0)
    return own > (sum(counts.values()) if by_most else max([1, *counts.values()]))


def overlap(space: Space) -> bool:
    """True if the two sides, as recorded or repeated unchanged, ever have the same outcome.

    Two outcomes of which only is known that they are neither recorded one may differ.
    """
    base, candidate = ({_kind(result) for result in side.all() if result.is_settled} for side in sides(space))
    return not ((base | {"base"}) & (candidate | {"candidate"})) <= {ProbeOutcome.OTHER}


def _kind(result: ProbeResult) -> str:
    """The outcome of a repeat; other outcomes are distinguished by their values, if known."""
    return result.outcome if result.outcome != ProbeOutcome.OTHER or not result.value else result.value


def confirm(space: Space, cause: Atoms, most: int) -> Steps[None]:
    """Repeat the base with only the cause, and the candidate without it, until both directions are clear."""
    base, candidate = sides(space)
    with_cause, without_cause = cause_repeats(space, cause)
    if base.problem() or candidate.problem():
        return
    for number in range(statistics.FIRST, most + 1):
        yield from draw((base, candidate, with_cause, without_cause), number)
        if any(arm.problem() for arm in (base, candidate, with_cause, without_cause)):
            return
        if (repeat_p(space, cause) or 1.0) < statistics.STRICT:
            return


def tell_apart(space: Space, suspects: Sequence[str], most: int) -> Steps[None]:
    """Repeat the base with each suspect alone: of changes that one sample each shows, chance may have made some."""
    base, candidate = sides(space)
    for name in suspects:
        alone = Repeats(space, space.with_required(frozenset({name})), "base")
        for number in range(statistics.FIRST, most + 1):
            yield from draw((base, candidate, alone), number)
            arms = (base.outcomes(), candidate.outcomes())
            ps = [statistics.exact_p(alone.outcomes(), arm) for arm in arms]
            if alone.problem() or min(ps) < statistics.STRICT:
                break


def vary(space: Space) -> bool:
    """True if repeats of a side differ from each other, or from its recording."""
    return not all(map(is_steady, sides(space)))


def cause_repeats(space: Space, cause: Atoms) -> tuple[Repeats, Repeats]:
    return Repeats(space, cause, "base"), Repeats(space, space.all - cause, "candidate")


def repeat_p(space: Space, cause: Atoms) -> float | None:
    """The larger adjusted p of both directions; None with too few repeats."""
    ways = _ways(space, cause)
    if min(len(outcomes) for way in ways for outcomes in way) < statistics.FIRST:
        return None
    return max(statistics.holm([statistics.exact_p(*way) for way in ways]))


def is_confirmed(space: Space, cause: Atoms) -> bool:
    """True if repeats show the effect of the cause in both directions, beyond chance."""
    return (repeat_p(space, cause) or 1.0) < statistics.STRICT and apart(space, cause)


def apart(space: Space, cause: Atoms) -> bool:
    """True if the effect in both directions exceeds what unchanged repeats show."""
    return all(statistics.apart(low, high) for low, high in _ways(space, cause))


def _ways(space: Space, cause: Atoms) -> tuple[tuple[list[str], list[str]], tuple[list[str], list[str]]]:
    """Outcomes without and with the cause: once on the base, once on the candidate."""
    base, candidate = sides(space)
    with_cause, without_cause = cause_repeats(space, cause)
    return (base.outcomes(), with_cause.outcomes()), (without_cause.outcomes(), candidate.outcomes())


_NAMES: Final = ("base", "candidate")


def _status(decision: Decision, problem: str, most: int, *, enough: bool) -> tuple[GateStatus, str]:
    if decision is Decision.REJECT:
        return GateStatus.RULED_OUT, gate_reason(GateReason.RULED_OUT)
    if problem:
        return GateStatus.NOT_RUN, gate_reason(GateReason.NOT_REPEATABLE, problem=problem)
    if not enough:
        kind = GateReason.TOO_FEW_ALLOWED if most < statistics.FIRST else GateReason.TOO_FEW
        return GateStatus.NOT_RUN, gate_reason(kind, first=statistics.FIRST, most=most)
    if decision is Decision.RETAIN:
        return GateStatus.NOT_RULED_OUT, gate_reason(GateReason.NOT_RULED_OUT)
    return GateStatus.NOT_RUN, gate_reason(GateReason.INCOMPLETE)


def _interval(hits: int, n: int) -> Interval | None:
    if n == 0:
        return None
    low, high = statistics.clopper_pearson(hits, n)
    return Interval(low=low, high=high)
