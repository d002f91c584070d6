"""What the REST interface says about calibrations and ignore lists."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from traces.core.schema import Schema
from traces.core.vocabulary import StepType
from traces.signatures.ignore_rules import IgnoreRule


class CalibrationRequest(Schema):
    """Two recordings of the same work, by id, unique beginning or `last`."""

    base: str
    candidate: str


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
    """Different calls of one recording that were answered differently and would become one."""

    side: Literal["base", "candidate"]
    type: StepType
    name: str
    steps: list[int]


class Difference(Schema):
    """Where two corresponding calls differ in what they say: no ignore list may hide that."""

    base: int
    candidate: int
    type: StepType
    name: str
    pointer: str
    example: Example


class Proposal(Schema):
    """A field to ignore, what speaks for it, and what it would do."""

    rule: IgnoreRule
    kind: str  # what its values are: uuid, timestamp, hex, date, id or counter
    pairs: int  # corresponding calls that differ there
    examples: list[Example]
    unifies: int  # of them, those that become equal when it is accepted with those that are recommended
    steps: list[UnifiedPair]
    collisions: list[Collision]  # by it, or by it together with others
    recommended: bool  # it unifies something, makes no different calls one, and its values name no thing or day


class CalibrationView(Schema):
    id: UUID
    app: str
    base: UUID
    base_name: str
    candidate: UUID
    candidate_name: str
    created_at: datetime
    compared: int  # pairs of corresponding calls
    differing: int  # of them, those with different signatures
    unified: list[UnifiedPair]  # that become equal when all proposals are accepted
    proposals: list[Proposal]
    left: list[Difference]
    left_out: int  # differing pairs beyond the limit, which were not looked at
    unchecked: int  # calls beyond the limit, which may collide and were not looked at
    current: "IgnoreListView | None"  # the app's list as it is now


class IgnoreListView(Schema):
    """One version of an app's list. It holds for replays and diffs from `ready_at` on."""

    app: str
    version: int
    digest: str
    rules: list[IgnoreRule]
    by: str
    at: datetime
    ready_at: datetime | None  # null: recorded calls are still being signed under it


class IgnoreLists(Schema):
    """Every version, the newest first; the newest that is ready holds."""

    lists: list[IgnoreListView]


class AcceptRequest(Schema):
    """Which proposals to add to the app's list, by their place in the calibration."""

    proposals: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=1000)]


class SetIgnoreList(Schema):
    """The whole list of an app, as its next version; without rules nothing is ignored any more."""

    app: Annotated[str, Field(min_length=1, max_length=120)]
    rules: Annotated[list[IgnoreRule], Field(max_length=1000)]
