"""Calls that a replay makes, and their answers. Pure."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from replay.core.graph import Node
from replay.core.plan import PlanAction
from replay.overrides.edits import NO_EDITS, Edits
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.signatures.call_signatures import DEFAULT_IGNORED, VERSION

LIVE_REASONS: Final = frozenset({Reason.LIVE_MODEL, Reason.LIVE_TOOL, Reason.LIVE_RETRIEVAL})
SEVERITY: Final = {Label.EXACT: 0, Label.CACHED: 1, Label.SIMULATED: 2, Label.LIVE: 0}
ACTIONS: Final[dict[Label, PlanAction]] = {Label.EXACT: "reuse", Label.CACHED: "cache", Label.SIMULATED: "simulate"}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One step to resolve, as it would be made now. `node` is the source step; None: the recording has none.

    `no` and `parent` are numbers in the derived run. `complete` is false where the input is not known: the recorded one
    is missing, or what the changed steps `underived` put into it cannot be derived. `typed` are the places of messages
    that people typed after an answer that is another one now.
    """

    no: int
    parent: int | None
    type: StepType
    name: str
    input: JSONValue
    node: Node | None = None
    complete: bool = True
    unknown_producers: tuple[int, ...] = ()
    reply_indices: tuple[int, ...] = ()
    changed: bool = False
    differs: tuple[str, ...] = ()
    because: tuple[int, ...] = ()
    provider: str = ""
    model: str = ""
    override_provider: str | None = None
    tool_name: str = ""
    call_id: str = ""
    signature: str = ""
    # The signature under the app's ignore list, where that is for such calls
    reduced_signature: str = ""
    edits: Edits = NO_EDITS

    @property
    def callee(self) -> str:
        return self.tool_name or self.name


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a step was resolved. `known` is false for a placeholder and for what only a live call can tell.

    `output_ref` names the output where it is stored already; `source` is the step whose recording answered.
    """

    action: PlanAction
    label: Label | None
    reason: Reason | None
    output: JSONValue = None
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

    def with_detail(self, detail: JSONObject) -> "Answer":
        """The same with another detail; `replace` takes ten times as long, and every step of a plan needs this."""
        copy = object.__new__(Answer)
        copy.__dict__.update(self.__dict__, detail=detail)
        return copy


@dataclass(frozen=True, kw_only=True)
class CachedAnswer:
    """A recorded answer found in another place; `where` says which run and step."""

    output_ref: str
    output: JSONValue
    status: StepStatus
    location: JSONObject


@dataclass(frozen=True, kw_only=True)
class OperatorAnswer:
    """What the operator said when asked: an output, to make the call (`run`), or to go on by policy (`fallback`)."""

    fallback: bool = False
    run: bool = False
    output: JSONValue = None
    status: StepStatus = StepStatus.OK


@dataclass(frozen=True, kw_only=True)
class ToolReview:
    """What is known of a tool: the decision about it (None: nobody reviewed it), and what would run it live."""

    safe: bool | None = None
    executor: str = ""


NO_REVIEW: Final = ToolReview()


@dataclass(frozen=True, kw_only=True)
class RetrieverMatch:
    """The retriever that answers a retrieval live. Without a `name` nothing does, and `why` says so.

    `provider` and `model` are those that embed the query for money, where some do.
    """

    name: str = ""
    reason: str = ""
    provider: str = ""
    model: str = ""


# What a walk says, in order.


_IGNORED: Final = sorted(DEFAULT_IGNORED)


def label_key() -> JSONObject:
    """The key that a label carries: the signature version, and what it leaves out."""
    return {"signature": VERSION, "ignored": [*_IGNORED]}
