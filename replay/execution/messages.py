"""Messages of the session event log."""

from datetime import datetime
from typing import Literal

from replay.core.vocabulary import AttemptStatus
from traces.core.json_types import JSONValue
from traces.core.schema import Schema


class AttemptView(Schema):
    """One attempt at a live call; `retry_at` is set while the next attempt is pending."""

    id: int
    sequence_no: int
    attempt: int
    kind: Literal["model", "tool", "retrieval"]
    status: AttemptStatus
    error: str
    started_at: datetime
    duration_ms: float | None
    retry_at: datetime | None


class OperatorQuestion(Schema):
    """A tool call that the policy leaves to the operator, or whose outcome is unknown.

    `may_run`: the call waits for approval, and the operator may let it run.
    """

    sequence_no: int
    tool_name: str
    arguments: JSONValue
    text: str
    may_run: bool = False


class StepsMessage(Schema):
    """New readable steps of the derived run; the client fetches them."""

    type: Literal["steps"] = "steps"
    seq: int
    first: int
    last: int


class TextMessage(Schema):
    """Further text of one step's live model call; `offset` lets clients ignore repeated text."""

    type: Literal["text"] = "text"
    seq: int
    sequence_no: int
    offset: int
    text: str


class AttemptMessage(Schema):
    type: Literal["attempt"] = "attempt"
    seq: int
    attempt: AttemptView


class OutputMessage(Schema):
    """An agent printed new lines; the client fetches them."""

    type: Literal["output"] = "output"
    seq: int
