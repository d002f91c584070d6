"""Findings of a proof as typed values, from which its sentences are written. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from diffing.schemas.evidence import NoiseGate


class RuleKind(StrEnum):
    """The rules that give a finding its confidence."""

    WITHIN_CHANCE = "within_chance"
    NO_CHANGE = "no_change"
    SAME_OUTCOME = "same_outcome"
    BUDGET = "budget"
    OBSERVATION = "observation"
    CHANCE_OPEN = "chance_open"
    RECORDED_ANSWERS = "recorded_answers"
    RECORDED_BEYOND_CHANCE = "recorded_beyond_chance"
    REPEATS = "repeats"
    JOINT = "joint"
    JOINT_OF_SOME = "joint_of_some"
    SEVERAL_CAUSES = "several_causes"
    SOME_OF_SEVERAL_CAUSES = "some_of_several_causes"
    LAST_CANDIDATE = "last_candidate"
    SUFFICIENT = "sufficient"
    NECESSARY = "necessary"
    INCOMPLETE = "incomplete"
    BORROWED_ANSWER = "borrowed_answer"
    OUTPUT_ONLY = "output_only"
    POSSIBLE_RESPONSE = "possible_response"
    COMMON_ORIGIN = "common_origin"
    ASSUMPTION = "assumption"
    AGENT_CODE = "agent_code"
    CHOSEN_WORDS = "chosen_words"
    OTHER_FORM = "other_form"
    OTHERS_UNTESTED = "others_untested"
    LESS_DETAIL = "less_detail"
    UNLIKELY = "unlikely"
    SINGLE_SAMPLE = "single_sample"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """`p` and `alpha` are those of the test; `reason` says why chance is open."""

    kind: RuleKind
    p: float = 1.0
    alpha: float = 1.0
    reason: str = ""


class ConclusionKind(StrEnum):
    """The conclusion of the probes."""

    NO_EFFECT = "no_effect"
    # Certain without a repeat.
    CHANCE = "chance"
    WITHIN_CHANCE = "within_chance"
    BOTH_WAYS = "both_ways"
    SUFFICIENT = "sufficient"
    NECESSARY = "necessary"
    LAST_CANDIDATE = "last_candidate"
    JOINT = "joint"
    ALL_NECESSARY = "all_necessary"
    # Sufficient, but so is something else.
    NOT_ALONE = "not_alone"
    SEVERAL_CAUSES = "several_causes"
    UNTESTABLE = "untestable"
    NO_PROOF = "no_proof"
    ONE_OF_THESE = "one_of_these"
    WORDING = "wording"
    UNRECORDED_CAUSE = "unrecorded_cause"
    NOT_REPLAYABLE = "not_replayable"
    INSEPARABLE = "inseparable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """`sets`: changes by title, `more` further ones; `models` answered instead of the recorded."""

    kind: ConclusionKind
    gate: NoiseGate
    sets: tuple[tuple[str, ...], ...] = ()
    more: int = 0
    reason: str = ""
    chance_open: bool = False
    models: tuple[str, ...] = ()
    more_models: int = 0


class AssumptionKind(StrEnum):
    """The assumptions of a finding."""

    THIS_RUN = "this_run"
    NEW_ANSWER = "new_answer"
    OUTPUT_ONLY = "output_only"
    BORROWED_ANSWER = "borrowed_answer"
    AGENT_CODE = "agent_code"
    UNEXPLAINED_INPUT = "unexplained_input"
    OTHER_DIFFERENCES = "other_differences"
    SAME_MODELS = "same_models"
    OUTSIDE = "outside"
    SEPARATE = "separate"
    PROVIDERS = "providers"
    AGENT_RAN = "agent_ran"
    ONE_PROGRAM = "one_program"
    OTHER_CODE = "other_code"


@dataclass(frozen=True, kw_only=True, slots=True)
class CoarserQuestion:
    """The comparison used a coarser question, because repeats of one side vary.

    `differs_on_the_way`: they differ before the final answer.
    """

    side: Literal["base", "candidate"]
    exact: str
    exact_kind: str
    coarse: str
    coarse_kind: str
    differs_on_the_way: bool


class GateReason(StrEnum):
    """Why chance is or is not ruled out."""

    NOT_NEEDED = "not_needed"
    RULED_OUT = "ruled_out"
    NOT_RULED_OUT = "not_ruled_out"
    NOT_REPEATABLE = "not_repeatable"
    TOO_FEW = "too_few"
    TOO_FEW_ALLOWED = "too_few_allowed"
    INCOMPLETE = "incomplete"
    NOT_RECOGNISABLE = "not_recognisable"
    UNUSUAL = "unusual"


class ChanceKind(StrEnum):
    """Why no change can have made the difference."""

    TRIALS = "trials"
    RESAMPLING = "resampling"


class WarningKind(StrEnum):
    """What limits a proof before it starts."""

    LIVE_REPLAYS = "live_replays"
    SAME_OUTCOME = "same_outcome"
    CHANCE = "chance"
    NO_LIVE_CALLS = "no_live_calls"
    FEW_REPEATS = "few_repeats"
    AGENT_DECIDES = "agent_decides"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanWarning:
    """`count`: the live replays, or the smallest useful number of repeats; `reason`: why chance is the answer."""

    kind: WarningKind
    count: int = 0
    reason: str = ""


class TrialKind(StrEnum):
    """The experiment that would settle a finding."""

    REPEAT = "repeat"
    BOTH_WAYS = "both_ways"
    RUN_BOTH = "run_both"
    RUN_ALL = "run_all"
