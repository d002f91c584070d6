"""Messages between the server and a runner. Those of the runner are checked: its machine is not the server's."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter

from cockpit.gateway.schemas import RerunSession
from replay.agents.output import MOST_LINES
from replay.runners.schemas import Stream
from traces.core.schema import Schema, Time

_Text = Annotated[str, Field(max_length=120)]
_Attempt = Annotated[int, Field(ge=1, lt=2**15)]


class OpenSession(Schema):
    """A session whose agent this runner started before it lost its connection."""

    session: UUID
    attempt: int


class Hello(Schema):
    """The first message of a runner: what it can run, and what it runs already."""

    type: Literal["hello"]
    app: _Text
    name: _Text = ""
    host: Annotated[str, Field(max_length=100)]
    process: Annotated[str, Field(max_length=40)]
    command: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=200)]
    capacity: Annotated[int, Field(ge=1, le=100)]
    tools_to_run: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=200)] = []
    tools_to_ask: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=200)] = []
    tools_with_hook: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=200)] = []
    env_allow: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=200)] = []
    network: Annotated[str, Field(max_length=2_000)] = ""
    sessions: Annotated[list[OpenSession], Field(max_length=100)] = []


class Line(Schema):
    no: Annotated[int, Field(ge=1, lt=2**31)]
    stream: Stream
    text: str
    at: Time


class Output(Schema):
    """Lines that an agent printed; the server answers `stored`."""

    type: Literal["output"]
    session: UUID
    attempt: _Attempt
    lines: Annotated[list[Line], Field(max_length=MOST_LINES)]


class Exit(Schema):
    """An agent has ended: its exit code is negative if a signal ended it. `error`: why it did not start."""

    type: Literal["exit"]
    session: UUID
    attempt: _Attempt
    code: Annotated[int, Field(ge=-255, lt=2**31)]
    error: Annotated[str, Field(max_length=2_000)] = ""


RunnerMessage: TypeAdapter[Hello | Output | Exit] = TypeAdapter(
    Annotated[Hello | Output | Exit, Field(discriminator="type")]
)


class Welcome(Schema):
    """The runner's name, how long it may run agents without a connection, and the server's time."""

    type: Literal["welcome"] = "welcome"
    name: str
    patience_s: float
    answered_at: datetime


class Start(Schema):
    """Start the agent with a rerun's input, and with these variables if the runner allows them."""

    type: Literal["start"] = "start"
    session: UUID
    attempt: int
    rerun: RerunSession
    variables: dict[str, str] = {}


class Stop(Schema):
    """End an agent: its session has ended, or another runner has it."""

    type: Literal["stop"] = "stop"
    session: UUID
    reason: str


class Receipt(Schema):
    """Lines up to `no` are stored."""

    type: Literal["stored"] = "stored"
    session: UUID
    attempt: int
    no: int
