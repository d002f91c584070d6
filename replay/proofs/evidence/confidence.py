"""How sure a finding is: by what was tested, row by row of one table, never by a feeling. Pure."""

from dataclasses import dataclass

from diffing.schemas.evidence import EvidenceVerdict, GateStatus, NoiseGate
from diffing.schemas.terms import Confidence
from diffing.sentences.findings import Rule, RuleKind
from diffing.sentences.proofs import rule
from replay.proofs.ladder.statistics import ALPHA, STRICT


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """What the finding rests on.

    `enough` and `needed` are of the primary set, null where not tested. `drawn`: a probe that decides got a new answer
    from a model; `borrowed`: one took a tool's answer from the other of two separate runs; `stood_in`: a step that only
    one run has is no more than what it gave. `derived`: the agent's code is taken to have done what it did in the other
    run; `assumed`: a step is taken to be unaffected that may not be; `follows`: the cause comes after a changed output,
    and may be a response to it; `only`: every other change was tried alone, and is not enough. `confirmed` is the
    larger of the adjusted p values of repeats of those probes, null without repeats; `apart`: their effect lies outside
    of what unchanged repeats show. `finished`: the search came to its end. `exhaustive`: every combination of the
    changes was looked at.
    """

    verdict: EvidenceVerdict
    gate: NoiseGate
    enough: bool | None = None
    needed: bool | None = None
    drawn: bool = False
    borrowed: bool = False
    stood_in: bool = False
    derived: bool = False
    assumed: bool = False
    follows: bool = False
    only: bool = True
    confirmed: float | None = None
    apart: bool = False
    finished: bool = True
    left_by_certificates: bool = False
    exhaustive: bool = False


@dataclass(frozen=True, kw_only=True)
class Level:
    confidence: Confidence
    rule: str


def level(grounds: Grounds) -> Level:
    """The first row that fits."""
    if grounds.verdict == "noise":
        repeated = grounds.gate.status == GateStatus.NOT_RULED_OUT
        return _level("noise", RuleKind.WITHIN_CHANCE if repeated else RuleKind.NO_CHANGE)
    if grounds.verdict == "no_effect":
        return _level("noise", RuleKind.SAME_OUTCOME)
    return _low(grounds) or _high(grounds) or _medium(grounds)


def _low(grounds: Grounds) -> Level | None:
    if not grounds.finished:
        return _level("low", RuleKind.BUDGET)
    if grounds.verdict == "inconclusive":
        return _level("low", RuleKind.OBSERVATION)
    if grounds.gate.status == GateStatus.NOT_RUN:
        return Level(confidence="low", rule=rule(Rule(kind=RuleKind.CHANCE_OPEN, reason=grounds.gate.reason)))
    return None


def _high(grounds: Grounds) -> Level | None:
    if grounds.verdict != "single" or not grounds.enough or not grounds.needed or not _beyond_chance(grounds.gate):
        return None
    if _doubt(grounds):
        return None
    if not grounds.drawn:
        if grounds.gate.p is None:
            return _level("high", RuleKind.RECORDED_ANSWERS)
        return _level("high", RuleKind.RECORDED_BEYOND_CHANCE, grounds.gate.p)
    if grounds.confirmed is not None and grounds.confirmed < STRICT and grounds.apart:
        return _level("high", RuleKind.REPEATS, grounds.confirmed)
    return None


def _medium(grounds: Grounds) -> Level:
    if grounds.verdict == "joint":
        return _level("medium", RuleKind.JOINT if grounds.exhaustive else RuleKind.JOINT_OF_SOME)
    if grounds.verdict == "over_determined":
        return _level("medium", RuleKind.SEVERAL_CAUSES if grounds.exhaustive else RuleKind.SOME_OF_SEVERAL_CAUSES)
    if grounds.left_by_certificates:
        return _level("medium", RuleKind.LAST_CANDIDATE)
    if not (grounds.enough and grounds.needed):
        return _level("medium", RuleKind.SUFFICIENT if grounds.enough else RuleKind.NECESSARY)
    if doubt := _doubt(grounds):
        return _level("medium", doubt)
    if grounds.gate.p is not None and not _beyond_chance(grounds.gate):
        return _level("medium", RuleKind.UNLIKELY, grounds.gate.p)
    return _level("medium", RuleKind.SINGLE_SAMPLE)


def _doubt(grounds: Grounds) -> RuleKind | None:
    """What speaks against a cause that replays show both ways."""
    doubts = (
        (grounds.borrowed, RuleKind.BORROWED_ANSWER),
        (grounds.stood_in, RuleKind.OUTPUT_ONLY),
        (grounds.follows, RuleKind.POSSIBLE_RESPONSE),
        (grounds.assumed, RuleKind.ASSUMPTION),
        (grounds.derived, RuleKind.AGENT_CODE),
        (not grounds.only, RuleKind.OTHERS_UNTESTED),
    )
    return next((kind for applies, kind in doubts if applies), None)


def _level(confidence: Confidence, kind: RuleKind, p: float | None = None) -> Level:
    return Level(confidence=confidence, rule=rule(Rule(kind=kind, p=1.0 if p is None else p, alpha=ALPHA)))


def _beyond_chance(gate: NoiseGate) -> bool:
    return gate.status == GateStatus.NOT_NEEDED or (
        gate.status == GateStatus.RULED_OUT and gate.p is not None and gate.p < STRICT
    )
