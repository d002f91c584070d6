"""Messages of the session event log."""

from datetime import datetime
from typing import Literal

from replay.core.vocabulary import AttemptStatus
from traces.core.json_types import JSONValue
from traces.core.schema import Schema


class AttemptView(Schema):
    """One live call as it went: `retry_at` is set while waiting for the next attempt."""

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
    """A tool call that the policy wants the operator to answer, or whose outcome nobody knows.

    `may_run`: it would run for real, and waits for the operator to let it.
    """

    sequence_no: int
    tool_name: str
    arguments: JSONValue
    text: str
    may_run: bool = False


class StepsMessage(Schema):
    """Steps of the derived run that are now readable; the client fetches them."""

    type: Literal["steps"] = "steps"
    seq: int
    first: int
    last: int


class TextMessage(Schema):
    """More text of the live model call of one step; `offset` tells a repeat from what is new."""

    type: Literal["text"] = "text"
    seq: int
    sequence_no: int
    offset: int
    text: str


class AttemptMessage(Schema):
    type: Literal["attempt"] = "attempt"
    seq: int
    attempt: AttemptView
