"""Schemas of runners in the REST API, and of what their agents print."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from traces.core.schema import Schema

Stream = Literal["stdout", "stderr"]


class RunnerView(Schema):
    """A program that starts an app's agent on its user's machine. `busy` is the number of agents that run now.

    `allowed_tools` may run, and `hook_tools` are intercepted by a hook in the agent. `env_allow` are the variables that
    a replay may set for the agent. `network` says what the agent may reach, and what enforces it.
    """

    id: UUID
    app: str
    name: str
    command: list[str]
    host: str
    allowed_tools: list[str]
    hook_tools: list[str]
    env_allow: list[str]
    network: str
    state: Literal["online", "offline"]
    capacity: int
    busy: int
    last_seen_at: datetime


class RunnerList(Schema):
    runners: list[RunnerView]


class OutputLine(Schema):
    """A line that an agent printed."""

    stream: Stream
    text: str
    at: datetime


class OutputView(Schema):
    """What the agent of a session printed, in order; `truncated`: the beginning, or other parts, are not stored."""

    lines: list[OutputLine]
    exit_code: int | None
    truncated: bool
