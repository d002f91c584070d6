"""Confidence of a finding: the first matching row of one table of what was tested. Pure."""

from dataclasses import dataclass

from diffing.schemas.evidence import EvidenceVerdict, GateStatus, NoiseGate
from diffing.schemas.terms import Confidence
from diffing.sentences.findings import Rule, RuleKind
from diffing.sentences.proofs import rule
from replay.proofs.ladder.statistics import ALPHA, STRICT


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """The facts that a confidence level rests on.

    is_enough, is_needed of the primary set; None if not tested
    restores_base        without the primary set, the candidate has the base's outcome, not a third one
    new_answer           a decisive probe got a new answer from a model
    borrowed_answer      a decisive probe used a tool's answer from the other of two separate runs
    stand_in             a step of one run only is represented by nothing but its output
    derived_code         the agent's code is assumed to do what it did in the other run
    chosen_words         code chose words after a changed output, and may have been another version of it
    assumed_unaffected   a step is assumed to be unaffected
    follows              the cause comes after a changed output and may be a response to it
    common_origin        code made the cause, and may have made it of another difference or asked another agent
    other_form           a decisive probe has a recorded answer but for its case or spacing
    is_only              every other change was tried alone and is not enough
    repeat_p             the larger adjusted p value of repeats of the decisive probes; None without repeats
    apart                their effect exceeds what unchanged repeats show
    less_detail          one run may not have recorded what the evidence rests on
    finished             the search was completed
    left_by_certificates certificates rule out every other change
    exhaustive           every combination of the changes was tried
    """

    verdict: EvidenceVerdict
    gate: NoiseGate
    is_enough: bool | None = None
    is_needed: bool | None = None
    restores_base: bool = True
    new_answer: bool = False
    borrowed_answer: bool = False
    stand_in: bool = False
    derived_code: bool = False
    chosen_words: bool = False
    assumed_unaffected: bool = False
    follows: bool = False
    common_origin: bool = False
    other_form: bool = False
    is_only: bool = True
    repeat_p: float | None = None
    apart: bool = False
    less_detail: bool = False
    finished: bool = True
    left_by_certificates: bool = False
    exhaustive: bool = False


@dataclass(frozen=True, kw_only=True)
class Level:
    confidence: Confidence
    rule: str


def level(grounds: Grounds) -> Level:
    """The confidence level of the first row that matches."""
    if grounds.verdict == EvidenceVerdict.NOISE:
        has_repeats = grounds.gate.status == GateStatus.NOT_RULED_OUT
        return _level("noise", RuleKind.WITHIN_CHANCE if has_repeats else RuleKind.NO_CHANGE)
    if grounds.verdict == EvidenceVerdict.NO_EFFECT:
        return _level("noise", RuleKind.SAME_OUTCOME)
    return _low(grounds) or _high(grounds) or _medium(grounds)


def _low(grounds: Grounds) -> Level | None:
    if not grounds.finished:
        return _level("low", RuleKind.BUDGET)
    if grounds.verdict == EvidenceVerdict.INCONCLUSIVE:
        return _level("low", RuleKind.OBSERVATION)
    if grounds.less_detail:
        return _level("low", RuleKind.LESS_DETAIL)
    if grounds.derived_code and grounds.chosen_words:
        return _level("low", RuleKind.CHOSEN_WORDS)
    if grounds.gate.status == GateStatus.NOT_RUN:
        return Level(confidence="low", rule=rule(Rule(kind=RuleKind.CHANCE_OPEN, reason=grounds.gate.reason)))
    return None


def _high(grounds: Grounds) -> Level | None:
    if (
        grounds.verdict != EvidenceVerdict.SINGLE
        or not grounds.is_enough
        or not grounds.is_needed
        or not _beyond_chance(grounds.gate)
    ):
        return None
    if _doubt(grounds):
        return None
    if not grounds.new_answer:
        if grounds.gate.p is None:
            return _level("high", RuleKind.RECORDED_ANSWERS)
        return _level("high", RuleKind.RECORDED_BEYOND_CHANCE, grounds.gate.p)
    if grounds.repeat_p is not None and grounds.repeat_p < STRICT and grounds.apart:
        return _level("high", RuleKind.REPEATS, grounds.repeat_p)
    return None


def _medium(grounds: Grounds) -> Level:
    if grounds.verdict == EvidenceVerdict.JOINT and not grounds.is_enough:
        # The named changes are needed, and not enough: the other members of the cause are unknown.
        return _level("low", RuleKind.INCOMPLETE)
    if grounds.verdict == EvidenceVerdict.JOINT:
        return _level("medium", RuleKind.JOINT if grounds.exhaustive else RuleKind.JOINT_OF_SOME)
    if grounds.verdict == EvidenceVerdict.OVER_DETERMINED:
        return _level("medium", RuleKind.SEVERAL_CAUSES if grounds.exhaustive else RuleKind.SOME_OF_SEVERAL_CAUSES)
    if grounds.left_by_certificates:
        return _level("medium", RuleKind.LAST_CANDIDATE)
    if not grounds.is_enough and not grounds.restores_base:
        # A third outcome shows that the change has an effect, not that it makes this difference.
        return _level("low", RuleKind.INCOMPLETE)
    if not (grounds.is_enough and grounds.is_needed):
        return _level("medium", RuleKind.SUFFICIENT if grounds.is_enough else RuleKind.NECESSARY)
    if doubt := _doubt(grounds):
        return _level("medium", doubt)
    if grounds.gate.p is not None and not _beyond_chance(grounds.gate):
        return _level("medium", RuleKind.UNLIKELY, grounds.gate.p)
    return _level("medium", RuleKind.SINGLE_SAMPLE)


def _doubt(grounds: Grounds) -> RuleKind | None:
    """What speaks against a cause that replays show in both directions."""
    doubts = (
        (grounds.borrowed_answer, RuleKind.BORROWED_ANSWER),
        (grounds.stand_in, RuleKind.OUTPUT_ONLY),
        (grounds.follows, RuleKind.POSSIBLE_RESPONSE),
        (grounds.common_origin, RuleKind.COMMON_ORIGIN),
        (grounds.assumed_unaffected, RuleKind.ASSUMPTION),
        (grounds.derived_code, RuleKind.AGENT_CODE),
        (grounds.other_form, RuleKind.OTHER_FORM),
        (not grounds.is_only, RuleKind.OTHERS_UNTESTED),
    )
    return next((kind for applies, kind in doubts if applies), None)


def _level(confidence: Confidence, kind: RuleKind, p: float | None = None) -> Level:
    return Level(confidence=confidence, rule=rule(Rule(kind=kind, p=1.0 if p is None else p, alpha=ALPHA)))


def _beyond_chance(gate: NoiseGate) -> bool:
    return gate.status == GateStatus.NOT_NEEDED or (
        gate.status == GateStatus.RULED_OUT and gate.p is not None and gate.p < STRICT
    )
