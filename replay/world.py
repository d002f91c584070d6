"""What the replay engine asks of the world, and what it says of each step. Planning and execution are two worlds
of one engine: a plan is a walk in which live calls stay unknown."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Protocol
from uuid import UUID

from replay.edits import NO_EDITS, Edits
from replay.graph import Node
from replay.schemas import PlanAction
from traces.json_types import JSONObject, JSONValue
from traces.signatures import DEFAULT_IGNORED, VERSION
from traces.vocabulary import Label, Reason, StepStatus, StepType

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
    underived: tuple[int, ...] = ()
    typed: tuple[int, ...] = ()
    changed: bool = False
    differs: tuple[str, ...] = ()
    because: tuple[int, ...] = ()
    provider: str = ""
    model: str = ""
    override_provider: str | None = None
    tool_name: str = ""
    call_id: str = ""
    signature: str = ""
    reduced: str = ""  # the signature under the app's ignore list, where that is for such calls
    edits: Edits = NO_EDITS

    @property
    def called(self) -> str:
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
    known: bool = True
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
        other = object.__new__(Answer)
        other.__dict__.update(self.__dict__, detail=detail)
        return other


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A recorded answer found in another place; `where` says which run and step."""

    output_ref: str
    output: JSONValue
    status: StepStatus
    where: JSONObject


@dataclass(frozen=True, kw_only=True)
class OperatorAnswer:
    """What the operator said when asked: an output, to make the call (`run`), or to go on by policy (`fallback`)."""

    fallback: bool = False
    run: bool = False
    output: JSONValue = None
    status: StepStatus = StepStatus.OK


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What is known of a tool: the decision about it (None: nobody reviewed it), and what would run it live."""

    safe: bool | None = None
    executor: str = ""


UNREVIEWED: Final = Standing()


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The retriever that answers a retrieval live. Without a `name` nothing does, and `why` says so.

    `provider` and `model` are those that embed the query for money, where some do.
    """

    name: str = ""
    why: str = ""
    provider: str = ""
    model: str = ""


class World(Protocol):
    """Recorded payloads, caches, providers and live calls. `planning`: no live answer will become known."""

    planning: bool

    def payload(self, ref: str) -> JSONValue:
        """A recorded value; raises `MissingPart`."""

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> Hit | None:
        """A recorded answer to the same call in any sealed run of the app, but for the excluded steps."""

    def similar(self, call: Call, threshold: float) -> Hit | None:
        """A recorded answer to a tool call like this one in any sealed run of the app."""

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        """The name of the configured provider that would answer, if any."""

    def live(self, call: Call, provider: str) -> Answer:
        """Ask the provider; in a plan the answer stays unknown."""

    def tool(self, name: str) -> Standing:
        """Whether a tool may run, and what would run it."""

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        """Run the tool; in a plan the answer stays unknown. None: the operator leaves the answer to the policy."""

    def retriever(self, call: Call) -> Serving:
        """The configured retriever that would answer, or why none does."""

    def live_retrieval(self, call: Call, serving: Serving) -> Answer:
        """Search again; in a plan the documents stay unknown."""

    def ask(self, call: Call) -> OperatorAnswer | None:
        """Ask the operator for a tool's answer; None in a plan. Raises when the session has to wait for it."""

    def resumed(self, no: int) -> Answer | None:
        """The answer that an earlier worker committed for this step."""


# What a walk says, in order.


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Source steps `first` to `last` that keep their recorded outputs; the derived numbers are `offset` higher.

    No change reaches them or, where `assumed` says by number why not even that is known, that is assumed of each.
    """

    first: int
    last: int
    offset: int
    assumed: Mapping[int, JSONObject] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Resolved:
    call: Call
    answer: Answer


@dataclass(frozen=True, kw_only=True)
class Gone:
    """A source step that the replay does not come to any more.

    `told`: what came in its place was said already.
    """

    node: Node
    why: str
    told: bool = False


@dataclass(frozen=True, kw_only=True)
class Closed:
    """A step that holds others has come to its end, and something inside of it is not as recorded.

    `output_from`: the steps that its output comes from, in the derived run, the latest first.
    """

    node: Node
    no: int
    output: JSONValue
    label: Label
    reason: Reason
    output_from: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Diverged:
    """Something that the recording did not have."""

    text: str


Event = Kept | Resolved | Gone | Closed | Diverged


@dataclass(frozen=True, kw_only=True)
class Advance:
    """What a helper asks of the driver: to come to the steps with numbers under `before`, and to `close` some."""

    before: int
    close: tuple[Node, ...] = ()


Happening = Event | Advance  # what helpers of the driver yield


_IGNORED: Final = sorted(DEFAULT_IGNORED)


def label_key() -> JSONObject:
    """The key that a label carries: the signature version, and what it leaves out."""
    return {"signature": VERSION, "ignored": [*_IGNORED]}
