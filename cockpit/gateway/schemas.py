"""Schemas of the gateway's REST endpoints."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from replay.execution.messages import OperatorQuestion
from replay.overrides.profile import OverrideProfile, StepRef
from replay.reruns.schemas import RerunBudget
from traces.core.json_types import JSONValue
from traces.core.schema import Schema


class GatewaySessionRequest(Schema):
    """A program whose model calls are to be recorded as one run."""

    app: Annotated[str, Field(max_length=120)] = ""
    name: Annotated[str, Field(max_length=200)] = ""
    command: Annotated[list[str], Field(max_length=200)] = []


class GatewaySession(Schema):
    """An open session. A provider's base URL is this server's address, then `path`, then the provider's name.

    `keys` are the providers whose key the server has: programs without a key of their own send `placeholder_key`.
    By `answered_at`, the server's time, a client on another machine finds the difference of their clocks.
    """

    run: str
    started_at: datetime
    answered_at: datetime
    session: str
    path: str
    keys: list[str]
    placeholder_key: str


class GatewaySessionEnd(Schema):
    """How the program ended."""

    exit_code: int


class GatewayRecording(Schema):
    """What was recorded. `has_calls`: model calls came through the gateway; they may take a while to be stored."""

    has_calls: bool


class RerunEnd(GatewaySessionEnd):
    """How the agent ended. With `write_run`, a comparison becomes a run even if it does not differ."""

    write_run: bool = False


class RerunHost(Schema):
    """A host that the agent asked for, with its port if that is known."""

    host: Annotated[str, Field(min_length=1, max_length=300)]


class RerunRequest(Schema):
    """The run whose recording answers: its id, a unique beginning of it, or its external id.

    With `overrides`, `fork_step` or `live` the rerun is a fork: from its step on, the overrides change requests, and
    live calls go to the provider if they are allowed. `overrides` may be a saved profile.
    `allow_tools` may run where the recording has no such call, whatever their review says. Tools of the recording that
    nothing intercepts run in any case: the rerun is refused unless each is reviewed as safe, in `allow_tools`, or in
    `hook_tools`, which a hook in the agent intercepts. About calls of `ask_tools`, which are patterns, an operator is
    asked.
    With `compare`, a rerun that differs from its recording becomes a run too, without any live call.
    With `pauses`, recorded streams are given with the pauses between their pieces, of at most two seconds.
    """

    run: Annotated[str, Field(min_length=1, max_length=200)]
    overrides: OverrideProfile | str | None = None
    fork_step: StepRef | None = None
    live: bool = False
    compare: bool = False
    pauses: bool = False
    allow_tools: Annotated[list[str], Field(max_length=200)] = []
    ask_tools: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=200)] = []
    hook_tools: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=200)] = []
    budget: RerunBudget = Field(default_factory=RerunBudget)


class RerunResume(Schema):
    """Another start of an agent: `allow_tools` may run from now on, besides those that could before."""

    allow_tools: Annotated[list[str], Field(max_length=200)] = []


class RerunQuestions(Schema):
    """Calls of the agent that wait for the operator, the oldest first."""

    questions: list[OperatorQuestion]


class RerunSession(Schema):
    """An open rerun. A provider's base URL is this server's address, then `path`, then the provider's name.

    `attempt` is the start of its agent, from 1: the agent's own requests name `ID.ATTEMPT`.

    `started_at` is the start of the recording, `seed` that of its random numbers, and `input` what its agent was
    started with, if that is known. `opened_at` is the start of the rerun, null if no run becomes of it; `answered_at`
    is the server's time. `real_tools` really run in each start of the agent, because nothing intercepts them;
    `reviewed_tools` are those of them that were reviewed as safe.
    """

    id: str
    attempt: int
    run: str
    seed: str
    started_at: datetime
    opened_at: datetime | None
    answered_at: datetime
    input: JSONValue
    path: str
    placeholder_key: str
    real_tools: list[str] = []
    reviewed_tools: list[str] = []
