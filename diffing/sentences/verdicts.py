"""Verdicts of an attribution as typed values, from which its sentences are written. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from traces.core.json_types import JSONValue

RunSide = Literal["base", "candidate"]


class AnswerChange(StrEnum):
    """How the final answers differ."""

    DIFFERS = "differs"
    ONE_SIDE = "one_side"
    # A step before it has a placeholder.
    NOT_RUN = "not_run"
    REMOVAL = "removal"
    ADDITION = "addition"
    # Words were removed, and none added.
    CUT = "cut"
    EDIT = "edit"
    REPLACEMENT = "replacement"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The change of the final answer; `base` and `candidate` are the differing words."""

    kind: AnswerChange = AnswerChange.DIFFERS
    base: str = ""
    candidate: str = ""
    side: RunSide = "candidate"
    tool: str = ""
    reason: str = ""


class CallChange(StrEnum):
    """How the calls of a tool or a retriever differ."""

    EXTRA_CALL = "extra_call"
    MISSING_CALL = "missing_call"
    ARGUMENT_CHANGED = "argument_changed"
    ARGUMENT_ADDED = "argument_added"
    ARGUMENT_REMOVED = "argument_removed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    kind: CallChange
    tool: str
    argument: str = ""
    base: str = ""
    candidate: str = ""


class ResultChange(StrEnum):
    """How the results of a tool differ."""

    SUCCESS = "success"
    FAILURE = "failure"
    TEXT = "text"
    FIELD = "field"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    kind: ResultChange
    tool: str
    field: str = ""
    base: str = ""
    candidate: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Consequence:
    """A cause's consequence: the first different call and result, and the final answer."""

    answer: Answer
    call: Call | None = None
    result: Result | None = None


class DoubtKind(StrEnum):
    """Other possible causes of the difference."""

    CONFIGURATION = "configuration"
    REQUEST = "request"
    TEMPLATE = "template"
    VARIABLES = "variables"
    USER = "user"
    UNREAD = "unread"
    SAME_CALL = "same_call"


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """A doubt about one step, or about the declared `settings`; `more` counts further steps."""

    kind: DoubtKind
    step: str = ""
    settings: str = ""
    more: int = 0


class Divergence(StrEnum):
    """How two trials of one task diverge."""

    SAME_REQUEST = "same_request"
    ONE_SIDE = "one_side"
    USER = "user"
    MODEL = "model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Changes named in a sentence, and the number of the others."""

    titles: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class NoDifference:
    """No step differs; `settings` are the differences of the configurations that the runs declare."""

    settings: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoEffect:
    """Steps differ, the final answers do not; `change` is the first known change."""

    steps: int
    change: str = ""
    more: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class NothingInCommon:
    """No call of one run corresponds to a call of the other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoExplanation:
    """Nothing before the final answers is known to differ; `unread`: steps that were not compared."""

    unread: Doubt | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenVerdict:
    """Several changes may be the cause."""

    changes: Changes
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Resampling:
    """A model answered the same request differently. `has_earlier`: earlier steps differ, but not this request."""

    step: int
    consequence: Consequence
    has_earlier: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Trials:
    """The runs are declared trials of one task."""

    task: str
    counter: str
    base: JSONValue
    candidate: JSONValue
    step: int
    divergence: Divergence
    answer: Answer
    side: RunSide = "candidate"
    step_type: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class JointChange:
    """Changes of one fork, none tried alone; `has_resampling`: one is a new sample of a model."""

    count: int
    changes: Changes
    answer: Answer
    has_resampling: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ManualAnswer:
    """The final answer repeats an overridden output."""

    step: str
    answer: Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigurationDiffers:
    """The runs declare different configurations, and `change` is only the first difference after that."""

    settings: str
    change: str
    answer: Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class SingleCause:
    """One named cause; `has_data_flow`: recorded data flow leads from it to the final answer."""

    change: str
    consequence: Consequence
    is_suspicion: bool
    has_data_flow: bool = True
    open_changes: Changes | None = None


Verdict = (
    NoDifference
    | NoEffect
    | NothingInCommon
    | NoExplanation
    | OpenVerdict
    | Resampling
    | Trials
    | JointChange
    | ManualAnswer
    | ConfigurationDiffers
    | SingleCause
)


class ReasonKind(StrEnum):
    """Why a change may be the cause."""

    PROMPT = "prompt"
    UPSTREAM = "upstream"
    RETRIEVAL = "retrieval"
    TOOL = "tool"
    MODEL = "model"
    # The request is the same in both runs.
    MODEL_ALONE = "model_alone"
    MODEL_AND_REQUEST = "model_and_request"
    STRUCTURE = "structure"
    OUTPUT = "output"
    CALL = "call"
    SET_BY_HAND = "set_by_hand"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    kind: ReasonKind
    step: str = ""


class CertificateKind(StrEnum):
    """Why a change cannot have reached the final answer."""

    SAME_ANSWER = "same_answer"
    SAME_OUTPUT = "same_output"
    SAME_ON_EVERY_PATH = "same_on_every_path"
    NO_PATH = "no_path"


class SupportKind(StrEnum):
    """The evidence for a verdict, besides the reason for its cause."""

    KIND_ORDER = "kind_order"
    TRIALS = "trials"
    SAME_REQUEST = "same_request"
    DATA_FLOW = "data_flow"
    NO_DATA_FLOW = "no_data_flow"
    REPLAY = "replay"
    SEPARATE_RECORDINGS = "separate_recordings"


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    kind: SupportKind
    step: str = ""
    task: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exclusion:
    change: str
    certificate: CertificateKind


Evidence = Reason | Support | Exclusion | Doubt


class ExperimentKind(StrEnum):
    """The experiment that would settle a verdict."""

    REPEAT_FROM = "repeat_from"
    REPEAT = "repeat"
    BOTH_WAYS = "both_ways"


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """`change` is named where there are several; `calls` are the live model calls of each replay."""

    kind: ExperimentKind
    step: int = 0
    change: str = ""
    calls: int = 0
