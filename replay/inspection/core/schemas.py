"""What the REST interface says about places to look at in a run."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from replay.inspection.core.places import PlaceKind
from traces.core.schema import Schema
from traces.core.vocabulary import Outcome

Nearness = Literal["same_task", "same_input", "same_app"]


class PlaceView(Schema):
    """A place to look at. `step` is null where it is the whole run; `path` points into the step's output or input."""

    kind: PlaceKind
    step: int | None
    path: str
    title: str
    # The evidence, quoted
    text: str
    # Other steps of the evidence
    related: list[int]


class AccuracyView(Schema):
    """On labelled failures: how many places of the kind there were, and how many were the step that people blamed."""

    source: str
    places: int
    exact: int
    # At most one message away
    near: int
    # The 95 % interval of the share that is near
    low: float
    high: float


class FrequencyView(Schema):
    """How many failed and how many passed runs of a benchmark have a place of the kind."""

    source: str
    failed: int
    failed_runs: int
    passed: int
    passed_runs: int


class PlaceKindView(Schema):
    """A kind of place. Where nothing was `measured`, nobody knows how often it helps."""

    kind: PlaceKind
    title: str
    places: int
    measured: list[AccuracyView]
    seen: list[FrequencyView]


class PassingRun(Schema):
    """A run that passed, to be compared with."""

    id: UUID
    name: str
    nearness: Nearness
    created_at: datetime


class RunPlaces(Schema):
    """Places of a run that are worth a look: no causes. `left_out` more are not listed; `unread` steps miss content."""

    run: UUID
    outcome: Outcome
    places: list[PlaceView]
    left_out: int
    unread: int
    kinds: list[PlaceKindView]
    passing: list[PassingRun]
