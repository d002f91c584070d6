"""What a proof found, as typed values: kinds and figures, from which its sentences are written. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from diffing.schemas.evidence import NoiseGate


class RuleKind(StrEnum):
    """The rows of the table that gives a finding its confidence."""

    WITHIN_CHANCE = "within_chance"
    NO_CHANGE = "no_change"
    SAME_OUTCOME = "same_outcome"
    BUDGET = "budget"
    OBSERVED = "observed"
    CHANCE_OPEN = "chance_open"
    RECORDED = "recorded"
    RECORDED_BEYOND_CHANCE = "recorded_beyond_chance"
    REPEATED = "repeated"
    JOINT = "joint"
    JOINT_OF_SOME = "joint_of_some"
    SEVERAL = "several"
    SEVERAL_OF_SOME = "several_of_some"
    LEFT = "left"
    ENOUGH = "enough"
    NEEDED = "needed"
    BORROWED = "borrowed"
    STOOD_IN = "stood_in"
    FOLLOWS = "follows"
    ASSUMED = "assumed"
    DERIVED = "derived"
    NOT_ALL_TRIED = "not_all_tried"
    UNLIKELY = "unlikely"
    DRAWN_ONCE = "drawn_once"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """`p` and `alpha` are those of the test; `reason` says why chance is open."""

    kind: RuleKind
    p: float = 1.0
    alpha: float = 1.0
    reason: str = ""


class ConclusionKind(StrEnum):
    """What the probes show."""

    NO_EFFECT = "no_effect"
    CHANCE = "chance"  # without a repeat
    WITHIN_CHANCE = "within_chance"
    BOTH_WAYS = "both_ways"
    ENOUGH = "enough"
    NEEDED = "needed"
    LEFT = "left"
    TOGETHER = "together"
    ALL_NEEDED = "all_needed"
    NOT_ALONE = "not_alone"  # enough, and something else is as well
    SEVERAL = "several"
    UNTESTABLE = "untestable"
    UNPROVED = "unproved"
    AMONG = "among"
    WORDING = "wording"
    UNRECORDED = "unrecorded"
    UNMADE = "unmade"
    UNSEPARATED = "unseparated"


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """`sets` are the changes by title; `more` counts further ones. `models` answered in place of recorded ones."""

    kind: ConclusionKind
    gate: NoiseGate
    sets: tuple[tuple[str, ...], ...] = ()
    more: int = 0
    reason: str = ""
    chance_open: bool = False
    models: tuple[str, ...] = ()
    more_models: int = 0


class AssumptionKind(StrEnum):
    """What has to be true for a finding to be."""

    THIS_RUN = "this_run"
    NEW_ANSWER = "new_answer"
    UNPAIRED = "unpaired"
    BORROWED = "borrowed"
    DERIVED = "derived"
    UNAFFECTED = "unaffected"
    INCOMPLETE = "incomplete"
    SAME_MODELS = "same_models"
    OUTSIDE = "outside"
    SEPARATE = "separate"
    PROVIDERS = "providers"


@dataclass(frozen=True, kw_only=True, slots=True)
class Coarsened:
    """Another question was compared than the one asked, because repeats vary in wording; `stray`: on the way."""

    asked: str
    asked_kind: str
    compared: str
    compared_kind: str
    stray: bool


class GateReason(StrEnum):
    """Why chance is ruled out, or is not."""

    NOT_NEEDED = "not_needed"
    REJECTED = "rejected"
    NOT_REJECTED = "not_rejected"
    UNREPEATABLE = "unrepeatable"
    TOO_FEW = "too_few"
    TOO_FEW_ALLOWED = "too_few_allowed"
    UNFINISHED = "unfinished"


class ChanceKind(StrEnum):
    """Why no change can have made the difference."""

    TRIALS = "trials"
    RESAMPLED = "resampled"


class TrialKind(StrEnum):
    """What would settle a finding."""

    REPEAT = "repeat"
    BOTH_WAYS = "both_ways"
    RUN_BOTH = "run_both"
    RUN_ALL = "run_all"
