"""What the REST interface and the socket say about replays."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from replay.core.plan import Determinism
from replay.core.vocabulary import SessionStatus
from replay.execution.messages import AttemptMessage, AttemptView, OperatorQuestion, StepsMessage, TextMessage
from replay.overrides.policy import Policy
from replay.overrides.profile import CallEnd, OverrideProfile, StepRef
from traces.core.json_types import JSONValue
from traces.core.schema import LabelCounts, Schema
from traces.core.vocabulary import StepStatus


class ReplayRequest(Schema):
    """`fork_step` is a step id or a sequence number; null forks at the run's start."""

    run: str
    fork_step: StepRef | None = None
    overrides: OverrideProfile = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy = Field(default_factory=Policy)


class ReplayBody(Schema):
    """A replay request as callers write it: a stored profile or policy may stand under its name or digest."""

    run: str
    fork_step: StepRef | None = None
    overrides: OverrideProfile | str = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy | str = Field(default_factory=Policy)


class AttemptList(Schema):
    attempts: list[AttemptView]
    next: int | None  # ask again after it; null: these are the last


class Takeover(Schema):
    """Another worker went on with a session whose worker was gone."""

    at: datetime
    kept_to: int  # the last committed step
    taken_back: int  # steps behind it that were not complete


class OperatorAnswer(Schema):
    """What a waiting session gets: the tool's answer, `run` where it may, or `fallback`: to go on without either."""

    sequence_no: int
    action: Literal["answer", "run", "fallback"]
    output: JSONValue = None
    status: CallEnd = StepStatus.OK


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


class SessionStateMessage(Schema):
    type: Literal["session"] = "session"
    seq: int
    session: SessionView


SessionMessage = Annotated[
    SessionStateMessage | StepsMessage | TextMessage | AttemptMessage, Field(discriminator="type")
]


class MessageList(Schema):
    """What a session told since `after`; ask again after `last`."""

    messages: list[SessionMessage]
    last: int


class RunsMessage(Schema):
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
