"""Schemas of reruns."""

from datetime import datetime
from uuid import UUID

from traces.core.json_types import JSONValue
from traces.core.schema import Schema


class RerunDifference(Schema):
    """The first difference of a call from the nearest recorded one: a pointer into the request, and both values."""

    step: int
    path: str
    old: JSONValue
    new: JSONValue


class RerunName(Schema):
    """A volatile value of the recording, and the agent's value in its place."""

    kind: str
    old: str
    new: str


class RerunView(Schema):
    """A rerun: how many calls were answered exactly, after volatile values were renamed, or not at all.

    A fork changes requests with overrides, or allows live calls. After its end, `fork` is its run and `diff` the
    comparison with the recording.
    `misses` are calls that got no answer: they are not in the recording, or its answer cannot be given in the form that
    the agent asked for. `unused_steps` are recorded calls that the agent did not make.
    """

    id: UUID
    run: UUID
    started_at: datetime
    ended_at: datetime | None
    exit_code: int | None
    exact: int
    cached: int
    live: int
    overridden: int
    misses: int
    is_fork: bool
    fork: UUID | None
    diff: UUID | None
    divergence: RerunDifference | None
    unused_steps: list[int]
    names: list[RerunName]
