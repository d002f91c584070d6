"""Calls of a replay and their answers. Pure."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeVar, dataclass_transform

from replay.core.graph import Node
from replay.core.plan import PlanAction
from replay.core.values.unread import ReadAtFirstUse
from replay.overrides.edits import NO_EDITS, Edits
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.signatures.call_signatures import DEFAULT_IGNORED, VERSION

LIVE_REASONS: Final = frozenset({Reason.LIVE_MODEL, Reason.LIVE_TOOL, Reason.LIVE_RETRIEVAL})
SEVERITY: Final = {Label.EXACT: 0, Label.CACHED: 1, Label.SIMULATED: 2, Label.LIVE: 0}
ACTIONS: Final[dict[Label, PlanAction]] = {Label.EXACT: "reuse", Label.CACHED: "cache", Label.SIMULATED: "simulate"}


T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def call_value(value: type[T]) -> type[T]:
    """Create a dataclass that mypy treats as frozen.

    A plan builds tens of thousands of them; one that is frozen at run time takes four times as long to build.
    """
    return dataclass(kw_only=True, unsafe_hash=True)(value)


@dataclass(frozen=True, kw_only=True)
class Replies:
    """Messages of a request, by index: the first ones, and the number of all."""

    indices: tuple[int, ...] = ()
    count: int = 0


NO_REPLIES: Final = Replies()


@call_value
class Call:
    """A step to resolve; `node` is the source step, None for a new step.

    `no` and `parent` are numbers in the derived run. `complete` is false if the input is unknown: the recorded input is
    missing, or the contribution of the changed steps `unknown_producers` cannot be derived. `replies` are messages that
    a person typed after an answer that has changed. `is_moved` is true for a recorded call that is made in another turn
    than recorded: what happened in between may change its answer.
    """

    no: int
    parent: int | None
    type: StepType
    name: str
    input: ReadAtFirstUse = ReadAtFirstUse()
    node: Node | None = None
    complete: bool = True
    unknown_producers: tuple[int, ...] = ()
    replies: Replies = NO_REPLIES
    changed: bool = False
    is_moved: bool = False
    differs: tuple[str, ...] = ()
    because: tuple[int, ...] = ()
    provider: str = ""
    model: str = ""
    override_provider: str | None = None
    tool_name: str = ""
    call_id: str = ""
    signature: str = ""
    # Signature under the app's ignore list; empty if no rule applies.
    reduced_signature: str = ""
    edits: Edits = NO_EDITS

    @property
    def callee(self) -> str:
        return self.tool_name or self.name

    def with_replies(self, replies: Replies) -> "Call":
        """Copy with replies, as fast as `Answer.with_detail`."""
        copy = object.__new__(Call)
        copy.__dict__.update(self.__dict__, replies=replies)
        return copy


@call_value
class Answer:
    """Resolution of a step; `is_known` is false for placeholders and for live calls that a plan does not make.

    `output_ref` references an output that is already stored; `source` is the step whose recording answered.
    """

    action: PlanAction
    label: Label | None
    reason: Reason | None
    output: ReadAtFirstUse = ReadAtFirstUse()
    output_ref: str = ""
    status: StepStatus = StepStatus.OK
    error: str = ""
    is_known: bool = True
    source: Node | None = None
    detail: JSONObject = field(default_factory=dict)
    note: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: Decimal | None = None
    duration_ms: float | None = None
    retries: int = 0

    @property
    def is_reused(self) -> bool:
        """True if the source's output is reused: exactly, or with the label that it has there."""
        return self.reason is Reason.SOURCE_OUTPUT_REUSED

    def with_detail(self, detail: JSONObject, *, note: str | None = None) -> "Answer":
        """Copy with another detail or note; ten times as fast as `replace`, and every step of a plan needs it."""
        copy = object.__new__(Answer)
        copy.__dict__.update(self.__dict__, detail=detail, note=self.note if note is None else note)
        return copy


@dataclass(frozen=True, kw_only=True)
class CachedAnswer:
    """Recorded answer of another step, with the usage of its call; `location` names its run and step."""

    output_ref: str
    output: JSONValue
    status: StepStatus
    location: JSONObject
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, kw_only=True)
class OperatorAnswer:
    """Operator's reply: an output, permission to make the call (`run`), or the policy's fallback (`fallback`)."""

    fallback: bool = False
    run: bool = False
    output: JSONValue = None
    status: StepStatus = StepStatus.OK


@dataclass(frozen=True, kw_only=True)
class ToolReview:
    """Review of a tool: whether it is safe (None if unreviewed), and the executor that would run it live."""

    safe: bool | None = None
    executor: str = ""


NO_REVIEW: Final = ToolReview()


@dataclass(frozen=True, kw_only=True)
class RetrieverMatch:
    """Retriever for a live retrieval; without one, `name` is empty and `reason` explains why.

    `provider` and `model` embed the query at a cost, if the retriever uses an embedding model.
    """

    name: str = ""
    reason: str = ""
    provider: str = ""
    model: str = ""


_IGNORED_FIELDS: Final = sorted(DEFAULT_IGNORED)


def label_key() -> JSONObject:
    """Detail that every label carries: the signature version and the fields that it ignores."""
    return {"signature": VERSION, "ignored": [*_IGNORED_FIELDS]}
