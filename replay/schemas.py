"""What the REST interface and the socket say about replays."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StrictBool, model_validator

from replay.overrides import CallEnd, OverrideProfile, StepRef
from replay.policy import Policy
from traces.json_types import JSONValue
from traces.schemas import LabelCounts, Schema
from traces.vocabulary import Label, StepType

PlanAction = Literal["inherited", "reuse", "cache", "live", "simulate", "blocked", "unreached"]
SessionStatus = Literal[
    "pending", "running", "completed_exact", "completed_simulated", "completed_mixed",
    "failed_validation", "failed_execution", "cancelled", "awaiting_operator",
]  # fmt: skip


class ReplayRequest(Schema):
    """`fork_step` is a step id or a sequence number; null forks at the run's start."""

    run: str
    fork_step: StepRef | None = None
    overrides: OverrideProfile = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy = Field(default_factory=Policy)


class ReplayAsked(Schema):
    """A replay request as callers write it: a stored profile or policy may stand under its name or digest."""

    run: str
    fork_step: StepRef | None = None
    overrides: OverrideProfile | str = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy | str = Field(default_factory=Policy)


class PlannedStep(Schema):
    sequence_no: int
    type: StepType
    name: str
    action: PlanAction
    label: Label | None  # null: unreached or blocked
    reason: str
    differs: list[str]  # fields of the signature that would differ from the recording
    because: list[int]  # the changed steps that reach this one directly
    cost_usd: float | None  # of a live step; null: unknown
    note: str
    typed: list[int] = []  # messages of the input, from 0, that a person typed after an answer that changes


class Determinism(Schema):
    """Kurral's score: mean of the four factors; `score` null when there is nothing to compare with."""

    score: float | None
    factors: dict[str, float]
    threshold: float
    critical_changes: list[str]
    other_changes: list[str]


class PlanRefusal(Schema):
    code: str
    detail: str
    where: str  # JSON pointer into the request
    step: int | None = None


class Plan(Schema):
    """What a replay would do with every step from the fork on, and what it would cost.

    `steps` leaves out inherited ones (all before the fork); they count in `counts` and `actions`.
    """

    fork_sequence_no: int
    steps: list[PlannedStep]
    actions: dict[PlanAction, int]
    counts: LabelCounts
    assumed: int = 0  # steps that keep their output on the assumption that the change does not reach them
    live_calls: int
    cost_usd: float | None  # null: some live model has no known price
    tokens: int
    duration_ms: float | None
    replay_type: Literal["A", "B"]
    determinism: Determinism
    loop: str  # how the agent loop was recognised, or why not
    ignore_list: int = 0  # the version of the app's ignore list under which calls are compared; 0: there is none
    refusals: list[PlanRefusal]
    warnings: list[str]


class AttemptView(Schema):
    """One live call as it went: `retry_at` is set while waiting for the next attempt."""

    id: int
    sequence_no: int
    attempt: int
    kind: Literal["model", "tool", "retrieval"]
    status: Literal["intended", "succeeded", "failed"]
    error: str
    started_at: datetime
    duration_ms: float | None
    retry_at: datetime | None


class AttemptList(Schema):
    attempts: list[AttemptView]
    next: int | None  # ask again after it; null: these are the last


class Takeover(Schema):
    """Another worker went on with a session whose worker was gone."""

    at: datetime
    kept_to: int  # the last committed step
    taken_back: int  # steps behind it that were not complete


class OperatorQuestion(Schema):
    """A tool call that the policy wants the operator to answer, or whose outcome nobody knows.

    `may_run`: it would run for real, and waits for the operator to let it.
    """

    sequence_no: int
    tool_name: str
    arguments: JSONValue
    text: str
    may_run: bool = False


class OperatorAnswer(Schema):
    """What a waiting session gets: the tool's answer, `run` where it may, or `fallback`: to go on without either."""

    sequence_no: int
    action: Literal["answer", "run", "fallback"]
    output: JSONValue = None
    status: CallEnd = "ok"


class SessionView(Schema):
    id: UUID
    status: SessionStatus
    source_run: UUID
    source_name: str
    run: UUID | None  # the derived run
    diff: UUID | None
    fork_sequence_no: int
    overrides: OverrideProfile
    overrides_digest: str
    policy: Policy
    policy_digest: str  # of what was written down; empty where a row before its time did not say
    counts: LabelCounts
    planned_steps: int
    resolved_steps: int
    current: str  # what is being resolved now, in words
    cost_usd: float | None
    live_calls: int
    replay_type: Literal["A", "B"]
    determinism: Determinism
    divergences: list[str]  # where execution differed from the plan
    takeovers: list[Takeover]
    unused_calls: list[int]  # recorded tool calls that nobody asked for any more
    question: OperatorQuestion | None  # set while awaiting_operator
    error_code: str
    error: str
    error_sequence_no: int | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


# The socket. Every message of a session carries its `seq`; a client resumes with `after`.


class SessionChanged(Schema):
    type: Literal["session"] = "session"
    seq: int
    session: SessionView


class StepsResolved(Schema):
    """Steps of the derived run that are now readable; the client fetches them."""

    type: Literal["steps"] = "steps"
    seq: int
    first: int
    last: int


class TextStreamed(Schema):
    """More text of the live model call of one step; `offset` tells a repeat from what is new."""

    type: Literal["text"] = "text"
    seq: int
    sequence_no: int
    offset: int
    text: str


class AttemptChanged(Schema):
    type: Literal["attempt"] = "attempt"
    seq: int
    attempt: AttemptView


SessionMessage = Annotated[SessionChanged | StepsResolved | TextStreamed | AttemptChanged, Field(discriminator="type")]


class MessageList(Schema):
    """What a session told since `after`; ask again after `last`."""

    messages: list[SessionMessage]
    last: int


class RunsTouched(Schema):
    """Something in the runs list changed; the client fetches again."""

    type: Literal["runs"] = "runs"
    seq: int
    run: UUID | None  # null: any of them


class ProviderView(Schema):
    """A configured model provider; keys never leave the server."""

    name: str
    protocol: Literal["openai", "anthropic"]
    base_url: str
    models: list[str]
    local: bool
    description: str


class ProviderList(Schema):
    providers: list[ProviderView]


class SessionList(Schema):
    sessions: list[SessionView]


class ToolSuggestion(Schema):
    """What a tool's words say about it; a person decides."""

    safe: bool
    reason: str


class ToolDecisionView(Schema):
    """`safe` null: the review was taken back."""

    safe: bool | None
    by: str
    via: Literal["page", "yaml"]
    at: datetime


class ToolView(Schema):
    """A tool that was called or offered in a run, is configured, or was decided about."""

    name: str
    apps: list[str]
    calls: int  # in recordings; those of replays are not counted
    last_seen: datetime | None  # null: never called
    description: str
    parameters: JSONValue  # the schema with which a model step offered it; null: none did
    suggestion: ToolSuggestion
    safe: bool | None  # null: not reviewed, and so never run
    history: list[ToolDecisionView]  # the newest first
    executor: str  # what runs it live: "http", "python" or "mcp" with the place; empty: nothing does


class ToolList(Schema):
    tools: list[ToolView]


class ToolChoice(Schema):
    name: Annotated[str, Field(min_length=1, max_length=300)]
    safe: StrictBool | None  # null: take the review back


class ToolChoices(Schema):
    decisions: Annotated[list[ToolChoice], Field(max_length=10_000)]

    @model_validator(mode="after")
    def _each_once(self) -> "ToolChoices":
        names = [choice.name for choice in self.decisions]
        if len(set(names)) < len(names):
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            raise ValueError(f"{twice!r} is decided twice")
        return self
