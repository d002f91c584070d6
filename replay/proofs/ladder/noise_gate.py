"""The noise gate, and the repeats that confirm what was found: which samples to draw, and what they say. Pure."""

from collections.abc import Sequence
from typing import Final

from diffing.schemas.evidence import GateStatus, Interval, NoiseGate
from diffing.sentences.findings import GateReason
from diffing.sentences.proofs import REPEAT_FAILED, gate_reason
from replay.proofs.core.types import Ask, Atoms, Seen, Side
from replay.proofs.ladder import statistics
from replay.proofs.ladder.facts import NOTHING, Asked, Space
from replay.proofs.ladder.search import Steps

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
    """The repeats of one configuration, in order, as far as they were drawn."""

    def __init__(self, space: Space, applied: Atoms, side: Side) -> None:
        self.space, self.applied, self.side = space, applied, side

    def ask(self, number: int) -> Ask:
        return Ask(applied=self.applied, side=self.side, repeat=number)

    def all(self) -> list[Seen]:
        found: list[Seen] = []
        while (seen := self.space.facts.seen(self.ask(len(found) + 1))) is not None:
            found.append(seen)
        return found

    def outcomes(self) -> list[str]:
        return [seen.outcome for seen in self.all() if seen.settled]

    def problem(self) -> str:
        """Why one of them says nothing; empty when all do."""
        return next((seen.missing or REPEAT_FAILED for seen in self.all() if not seen.settled), "")

    def stray(self) -> bool:
        """Whether nothing but code of the agent kept repeats from their end: its inputs are new each time."""
        unsettled = [seen for seen in self.all() if not seen.settled]
        return bool(unsettled) and all(seen.strays for seen in unsettled)

    def missing(self, number: int) -> list[Ask]:
        """What is to be drawn up to that number; nothing where one came to nothing: then the next would as well.

        Of repeats that stray some more are drawn: their outputs show what is wording.
        """
        if self.problem():
            number = min(number, statistics.FIRST) if self.stray() else 0
        return [self.ask(at) for at in range(len(self.all()) + 1, number + 1)]


def draw(arms: Sequence[Repeats], number: int) -> Steps[None]:
    """Every arm up to that number."""
    while missing := [ask for arm in arms for ask in arm.missing(number)]:
        yield Asked(ask=missing[0], purpose="repeat", then=tuple(missing[1:]))


def sides(space: Space) -> tuple[Repeats, Repeats]:
    return Repeats(space, NOTHING, "base"), Repeats(space, space.all, "candidate")


def run(space: Space, most: int) -> Steps[None]:
    """Repeat both sides until chance is ruled out, or is not, or the repeats are used up."""
    base, candidate = sides(space)
    number = min(statistics.FIRST, most)
    while most >= statistics.FIRST:
        yield from draw((base, candidate), number)
        over = base.problem() or candidate.problem() or number >= most
        if over or statistics.decide(base.outcomes(), candidate.outcomes(), most=most) != "go_on":
            return
        number += 1


def verdict(space: Space, *, sampled: bool, most: int, finished: bool) -> NoiseGate:
    """What the repeats drawn so far say; `finished`: no more will be drawn."""
    if not sampled:
        return NOT_NEEDED
    base, candidate = sides(space)
    drawn = base.outcomes(), candidate.outcomes()
    decision = statistics.decide(*drawn, most=max(min(map(len, drawn)), statistics.FIRST) if finished else most)
    flips = [sum(outcome != side for outcome in outcomes) for side, outcomes in zip(_NAMES, drawn, strict=True)]
    enough = min(map(len, drawn)) >= statistics.FIRST
    status, reason = _status(decision, base.problem() or candidate.problem(), most, enough=enough)
    return NoiseGate(
        status=status,
        reason=reason,
        base_flips=flips[0],
        base_n=len(drawn[0]),
        base_interval=_interval(flips[0], len(drawn[0])),
        candidate_flips=flips[1],
        candidate_n=len(drawn[1]),
        candidate_interval=_interval(flips[1], len(drawn[1])),
        p=statistics.effect_p(*drawn) if enough else None,
    )


def disagree(repeats: Repeats) -> bool:
    """Whether repeats of one configuration differ from each other under the question."""
    return len({_kind(seen) for seen in repeats.all() if seen.settled}) > 1


def is_steady(repeats: Repeats) -> bool:
    """Whether repeats of one configuration agree with each other, and with its recording."""
    return {_kind(seen) for seen in repeats.all() if seen.settled} <= {repeats.side}


def are_recognised(space: Space) -> bool:
    """Whether most repeats of either side come to what that side was recorded with, and not to something else."""
    return all(2 * side.outcomes().count(side.side) > len(side.outcomes()) for side in sides(space))


def overlap(space: Space) -> bool:
    """Whether the two sides, as recorded or repeated unchanged, ever come to the same."""
    base, candidate = ({_kind(seen) for seen in side.all() if seen.settled} for side in sides(space))
    return not (base | {"base"}).isdisjoint(candidate | {"candidate"})


def _kind(seen: Seen) -> str:
    """What a repeat came to: other outcomes are told apart where their values are known."""
    return seen.outcome if seen.outcome != "other" or not seen.value else seen.value


def confirm(space: Space, cause: Atoms, most: int) -> Steps[None]:
    """Repeat the base with only the cause, and the candidate without it, until both ways are clear."""
    base, candidate = sides(space)
    applied, reverted = confirming(space, cause)
    if base.problem() or candidate.problem():
        return
    for number in range(statistics.FIRST, most + 1):
        yield from draw((base, candidate, applied, reverted), number)
        if any(arm.problem() for arm in (base, candidate, applied, reverted)):
            return
        if (confirmed(space, cause) or 1.0) < statistics.STRICT:
            return


def confirming(space: Space, cause: Atoms) -> tuple[Repeats, Repeats]:
    return Repeats(space, cause, "base"), Repeats(space, space.all - cause, "candidate")


def confirmed(space: Space, cause: Atoms) -> float | None:
    """The larger adjusted p of both ways; None where there are too few repeats."""
    ways = _ways(space, cause)
    if min(len(outcomes) for way in ways for outcomes in way) < statistics.FIRST:
        return None
    return max(statistics.holm([statistics.exact_p(*way) for way in ways]))


def apart(space: Space, cause: Atoms) -> bool:
    """Whether both effects lie outside of what unchanged repeats show."""
    return all(statistics.apart(low, high) for low, high in _ways(space, cause))


def _ways(space: Space, cause: Atoms) -> tuple[tuple[list[str], list[str]], tuple[list[str], list[str]]]:
    """What lacks the cause beside what has it, once on the base and once on the candidate."""
    base, candidate = sides(space)
    applied, reverted = confirming(space, cause)
    return (base.outcomes(), applied.outcomes()), (reverted.outcomes(), candidate.outcomes())


_NAMES: Final = ("base", "candidate")


def _status(decision: statistics.Decision, problem: str, most: int, *, enough: bool) -> tuple[GateStatus, str]:
    if decision == "rejected":
        return GateStatus.RULED_OUT, gate_reason(GateReason.RULED_OUT)
    if problem:
        return GateStatus.NOT_RUN, gate_reason(GateReason.NOT_REPEATABLE, problem=problem)
    if not enough:
        kind = GateReason.TOO_FEW_ALLOWED if most < statistics.FIRST else GateReason.TOO_FEW
        return GateStatus.NOT_RUN, gate_reason(kind, first=statistics.FIRST, most=most)
    if decision == "not_rejected":
        return GateStatus.NOT_RULED_OUT, gate_reason(GateReason.NOT_RULED_OUT)
    return GateStatus.NOT_RUN, gate_reason(GateReason.INCOMPLETE)


def _interval(hits: int, n: int) -> Interval | None:
    if n == 0:
        return None
    low, high = statistics.clopper_pearson(hits, n)
    return Interval(low=low, high=high)
