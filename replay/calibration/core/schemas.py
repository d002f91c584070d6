"""Schemas of calibrations and ignore lists in the REST API."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from replay.core.plan import UninterceptedTool
from replay.core.vocabulary import CalibrationStatus, SessionStatus
from traces.core.schema import Schema
from traces.core.vocabulary import StepType
from traces.signatures.ignore_rules import IgnoreRule


class CalibrationRequest(Schema):
    """Two recordings of the same work, by id, unique prefix or `last`."""

    base: str
    candidate: str


class AgentStart(Schema):
    """A start of the agent, and the run of what it did."""

    session: UUID
    status: SessionStatus
    run: UUID | None


class AgentCalibrationView(Schema):
    """Two starts of a run's agent by a runner, whose runs are compared once both have ended.

    `waits_for`: which runner has to be started before it can go on, and how; empty if none. `calibration` is the
    comparison; `error` why there is none.
    """

    id: UUID
    run: UUID
    run_name: str
    app: str
    status: CalibrationStatus
    starts: list[AgentStart]
    # What the agent really runs in each start.
    unintercepted_tools: list[UninterceptedTool]
    waits_for: str
    calibration: UUID | None
    error: str
    created_at: datetime


class Example(Schema):
    base: str
    candidate: str


class UnifiedPair(Schema):
    """Two steps whose signatures become equal."""

    base: int
    candidate: int
    type: StepType
    name: str


class Collision(Schema):
    """Different calls of one recording that had different answers and would get the same signature."""

    side: Literal["base", "candidate"]
    type: StepType
    name: str
    steps: list[int]


class Difference(Schema):
    """A meaningful difference between two corresponding calls, which no ignore list may hide."""

    base: int
    candidate: int
    type: StepType
    name: str
    pointer: str
    example: Example


class Proposal(Schema):
    """A field to ignore, with the evidence for it and its effect."""

    rule: IgnoreRule
    # Kind of the values: uuid, timestamp, hex, date, id or counter.
    kind: str
    # Number of corresponding calls that differ in the field.
    pairs: int
    examples: list[Example]
    # Number of these pairs that become equal if the proposal and all recommended ones are accepted.
    unifies: int
    steps: list[UnifiedPair]
    # Caused by the proposal, alone or together with others.
    collisions: list[Collision]
    # It unifies pairs, causes no collision, and its values identify no object and no day.
    recommended: bool


class CalibrationView(Schema):
    id: UUID
    app: str
    base: UUID
    base_name: str
    candidate: UUID
    candidate_name: str
    created_at: datetime
    # Number of pairs of corresponding calls.
    compared: int
    # Number of these pairs with different signatures.
    differing: int
    # Pairs that become equal if all proposals are accepted.
    unified: list[UnifiedPair]
    proposals: list[Proposal]
    left: list[Difference]
    # Differing pairs beyond the limit, which were not examined.
    left_out: int
    # Calls beyond the limit, which were not checked for collisions.
    unchecked: int
    # The app's current ignore list.
    current: "IgnoreListView | None"


class CalibrationSummary(Schema):
    """A calibration in a list: what ignoring all its fields would do."""

    id: UUID
    app: str
    base: UUID
    base_name: str
    candidate: UUID
    candidate_name: str
    created_at: datetime
    # Proposed fields, and those of them that the app's newest list ignores.
    fields: list[IgnoreRule]
    ignored_count: int
    # Indices of the recommended proposals that the newest list does not ignore yet.
    recommendations: list[int]
    # Pairs of corresponding calls that become equal.
    gain: int
    # Groups of different calls that become equal.
    collisions: int


class CalibrationList(Schema):
    """The newest calibrations."""

    calibrations: list[CalibrationSummary]


class IgnoreListView(Schema):
    """One version of an app's ignore list, active for replays and diffs from `ready_at` on."""

    app: str
    version: int
    digest: str
    rules: list[IgnoreRule]
    by: str
    at: datetime
    # Null: recorded calls are still being signed under it.
    ready_at: datetime | None


class IgnoreLists(Schema):
    """All versions, newest first; the newest ready version is active."""

    lists: list[IgnoreListView]


class AcceptRequest(Schema):
    """Proposals to add to the app's ignore list, by their index in the calibration."""

    proposals: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=1000)]


class SetIgnoreList(Schema):
    """The next version of an app's ignore list; an empty list ignores nothing."""

    app: Annotated[str, Field(min_length=1, max_length=120)]
    rules: Annotated[list[IgnoreRule], Field(max_length=1000)]
