"""Hooks, telemetry targets and outcomes of hooks, as the REST interface returns them."""

from datetime import datetime

from traces.core.json_types import JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import HookEvent


class HookView(Schema):
    """A configured hook; without events it receives all of them."""

    name: str
    events: list[HookEvent]
    matcher: str
    gate: bool
    place: str  # description of the program or address
    problem: str  # why it will fail, if known


class TelemetryView(Schema):
    """A telemetry target and its delivery counts; a Langfuse target receives whole runs."""

    name: str
    kind: str
    place: str
    events: list[str]
    problem: str
    sent: int
    dropped: int
    error: str  # the last one
    error_at: datetime | None
    sent_at: datetime | None


class HookList(Schema):
    hooks: list[HookView]
    targets: list[TelemetryView]


class HookFailureView(Schema):
    hook: str
    error: str


class HookOutcomeView(Schema):
    """Outcome of one event at which a hook decided or failed. `hook` is empty if no decision applies."""

    sequence_no: int  # of the step of the derived run; 0: the agent
    event: HookEvent
    tool_name: str
    asked: JSONValue  # arguments of the call, from the agent
    hook: str
    decision: JSONValue
    failures: list[HookFailureView]
    at: datetime


class HookOutcomeList(Schema):
    outcomes: list[HookOutcomeView]
    next: int | None  # ask again after it; null: these are the last
