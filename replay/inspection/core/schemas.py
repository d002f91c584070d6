"""Schemas of the REST API for places worth a look. Pure."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from replay.inspection.core.places import PlaceKind
from traces.core.schema import Schema
from traces.core.vocabulary import Outcome

Nearness = Literal["same_task", "same_input", "same_app"]


class PlaceView(Schema):
    """A place worth a look. `step` is null for the whole run; `path` points into the step's output or input."""

    kind: PlaceKind
    step: int | None
    path: str
    title: str
    # Quoted evidence.
    text: str
    # Other steps of the evidence.
    related: list[int]


class AccuracyView(Schema):
    """Result on labelled failures: the number of places of the kind, and how many were at the labelled step."""

    source: str
    places: int
    exact: int
    # At most one message away from the labelled step.
    near: int
    # 95 % interval of the share that is near.
    low: float
    high: float


class FrequencyView(Schema):
    """Number of failed and of passed runs of a benchmark with a place of the kind."""

    source: str
    failed: int
    failed_runs: int
    passed: int
    passed_runs: int


class PlaceKindView(Schema):
    """A kind of place. Without `measured` results, it is unknown how often it helps."""

    kind: PlaceKind
    title: str
    places: int
    measured: list[AccuracyView]
    seen: list[FrequencyView]


class PassingRun(Schema):
    """A passing run to compare with."""

    id: UUID
    name: str
    nearness: Nearness
    created_at: datetime


class RunPlaces(Schema):
    """Places of a run that are worth a look, not causes. `left_out` are not listed; `unread` steps lack content."""

    run: UUID
    outcome: Outcome
    places: list[PlaceView]
    left_out: int
    unread: int
    kinds: list[PlaceKindView]
    passing: list[PassingRun]
