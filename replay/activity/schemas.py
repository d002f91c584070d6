"""Schemas of the activity list."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from diffing.schemas.terms import Confidence
from traces.core.schema import Schema
from traces.core.vocabulary import Outcome

Kind = Literal["replay", "diff", "proof", "experiment", "bisection", "calibration"]
State = Literal["waiting", "running", "completed", "failed", "cancelled"]


class Progress(Schema):
    finished: int
    total: int


class Activity(Schema):
    """One replay, diff, proof, experiment, bisection or calibration."""

    kind: Kind
    id: UUID
    state: State
    run: UUID
    run_name: str
    # Of what is compared with the run: the candidate of a diff, a proof or a calibration.
    candidate_name: str
    fork_sequence_no: int | None
    # What it does, in a few words; empty: see the kind.
    subject: str
    # What it found, or why it failed.
    finding: str
    # Outcomes of the run, and of its fork or the candidate.
    base_outcome: Outcome | None
    outcome: Outcome | None
    confidence: Confidence | None
    # Of its live calls so far; null: unknown, or nothing that can make any.
    cost_usd: float | None
    # Of what is still running.
    progress: Progress | None
    # The diff of a proof: where it is shown.
    diff: UUID | None
    # Name of the token that started it, `local` without sign-in; empty: the server itself.
    author: str
    created_at: datetime


class ActivityList(Schema):
    activities: list[Activity]
    # `cursor` of the next page; null: this is the last page.
    next: UUID | None


class Authors(Schema):
    """The names of those who started anything."""

    authors: list[str]
