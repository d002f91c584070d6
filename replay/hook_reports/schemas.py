"""What the REST interface says about hooks and telemetry."""

from datetime import datetime

from traces.core.json_types import JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import HookEvent


class HookView(Schema):
    """A configured hook; without events it hears all of them."""

    name: str
    events: list[HookEvent]
    matcher: str
    gate: bool
    place: str  # what is asked, in words
    problem: str  # why it will fail, as far as that is known


class TelemetryView(Schema):
    """A telemetry target and what became of the events for it; a Langfuse target gets whole runs."""

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
    """What came of one event where a hook decided or failed. `hook` is empty where nobody's decision counts."""

    sequence_no: int  # of the derived run's step that it is about; 0: the agent
    event: HookEvent
    tool_name: str
    asked: JSONValue  # the arguments that the agent gave
    hook: str
    decision: JSONValue
    failures: list[HookFailureView]
    at: datetime


class HookOutcomeList(Schema):
    outcomes: list[HookOutcomeView]
    next: int | None  # ask again after it; null: these are the last
