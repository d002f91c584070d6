"""Schemas of replays in the REST API and on the socket."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from replay.core.plan import Determinism
from replay.core.vocabulary import Engine, SessionStatus
from replay.execution.messages import (
    AttemptMessage,
    AttemptView,
    OperatorQuestion,
    OutputMessage,
    StepsMessage,
    TextMessage,
)
from replay.live.providers.types import Protocol
from replay.overrides.policy import Policy
from replay.overrides.profile import CallEnd, OverrideProfile, StepRef
from traces.core.json_types import JSONValue
from traces.core.schema import ForkChange, LabelCounts, Schema
from traces.core.vocabulary import Outcome, StepStatus
from traces.schemas import Caption

# `auto`: the agent, where its runner is online and it can do what the request wants; else the recording.
EngineRequest = Engine | Literal["auto"]
_VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
_VariableValue = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]
Variables = Annotated[dict[_VariableName, _VariableValue], Field(max_length=50)]


class ReplayRequest(Schema):
    """`fork_step` is a step id or a sequence number; null forks at the run's start.

    `engine`: follow the recording, or let a runner of the run's app start the agent again. `variables` are set for the
    agent, if a runner allows them.

    Tools of the agent that nothing intercepts really run in each of its starts. It does not start unless each is
    reviewed as safe, or allowed by the user of a runner on its terminal: no request can allow them.
    """

    run: str
    fork_step: StepRef | None = None
    overrides: OverrideProfile = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy = Field(default_factory=Policy)
    engine: EngineRequest = Engine.FOLLOW
    variables: Variables = {}

    @model_validator(mode="after")
    def _need_agent(self) -> Self:
        if self.variables and self.engine is not Engine.AGENT:
            raise ValueError("variables are those of an agent: they need the engine `agent`")
        return self


class ReplayBody(Schema):
    """A replay request as callers write it: a stored profile or policy may be given by name or digest."""

    run: str
    fork_step: StepRef | None = None
    overrides: OverrideProfile | str = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy | str = Field(default_factory=Policy)
    engine: EngineRequest = Engine.FOLLOW
    variables: Variables = {}


class AttemptList(Schema):
    attempts: list[AttemptView]
    # `after` of the next page; null: this is the last page.
    next: int | None


class Takeover(Schema):
    """A session went on after its worker, or the runner or agent of it, was interrupted."""

    at: datetime
    # The last committed step.
    kept_to: int
    # Number of incomplete steps after it, which were discarded.
    taken_back: int


class OperatorAnswer(Schema):
    """Answer to a waiting session: the tool's output, `run` (if the question allows it), or `fallback`."""

    sequence_no: int
    action: Literal["answer", "run", "fallback"]
    output: JSONValue = None
    status: CallEnd = StepStatus.OK


class SessionView(Caption):
    """A replay; its name, note and answer are those of the derived run."""

    change: ForkChange
    id: UUID
    status: SessionStatus
    source_run: UUID
    source_name: str
    source_outcome: Outcome
    source_outcome_reason: str
    source_answer: str
    # The derived run.
    run: UUID | None
    # Of the derived run; null before the replay has ended.
    outcome: Outcome | None
    outcome_reason: str
    diff: UUID | None
    fork_sequence_no: int
    overrides: OverrideProfile
    overrides_digest: str
    policy: Policy
    engine: Engine
    # Of the runner that started the agent, or will; null: none yet, or another engine.
    runner: str | None
    # Keyed digests of the values of the variables that were set for the agent, by name.
    variables: dict[str, str]
    # Of the agent; null while it runs.
    exit_code: int | None
    # Digest of the policy as the caller wrote it; empty for sessions from before it was stored.
    policy_digest: str
    counts: LabelCounts
    planned_steps: int
    resolved_steps: int
    # Description of what is being resolved.
    current: str
    cost_usd: float | None
    live_calls: int
    replay_type: Literal["A", "B"]
    determinism: Determinism
    # Where execution differed from the plan.
    divergences: list[str]
    takeovers: list[Takeover]
    # Recorded tool calls that the replay no longer requests.
    unused_calls: list[int]
    # Set while awaiting_operator.
    question: OperatorQuestion | None
    # What a runner has to allow, so that an answer that was held back or a call that was refused can go on.
    tools_to_allow: list[str]
    error_code: str
    error: str
    error_sequence_no: int | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


# Messages on the socket. Every message of a session has a `seq`; a client resumes with `after`.


class SessionStateMessage(Schema):
    type: Literal["session"] = "session"
    seq: int
    session: SessionView


SessionMessage = Annotated[
    SessionStateMessage | StepsMessage | TextMessage | AttemptMessage | OutputMessage, Field(discriminator="type")
]


class MessageList(Schema):
    """Messages of a session since `after`; continue after `last`."""

    messages: list[SessionMessage]
    last: int


class RunsMessage(Schema):
    """The list of runs changed; the client fetches it again."""

    type: Literal["runs"] = "runs"
    seq: int
    # Null: any run.
    run: UUID | None


class ProviderView(Schema):
    """A configured model provider; keys never leave the server."""

    name: str
    protocol: Protocol
    base_url: str
    models: list[str]
    local: bool
    description: str


class ProviderList(Schema):
    providers: list[ProviderView]


class SessionList(Schema):
    sessions: list[SessionView]
