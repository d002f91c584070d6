"""Schemas of the REST API for the tree of a run's forks. Pure."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from replay.checks.schemas import CheckResult
from replay.core.vocabulary import SessionStatus
from traces.core.schema import LabelCounts, Schema
from traces.core.vocabulary import Outcome, RunStatus
from traces.schemas import Caption

Origin = Literal["recorded", "fork", "experiment", "bisection", "proof", "unchanged"]


class TreeRun(Caption):
    """A run of the tree. Scores compare it with the run that it was forked from; null until they are compared."""

    id: UUID
    parent: UUID | None
    depth: int
    name: str
    status: RunStatus
    outcome: Outcome
    outcome_reason: str
    sealed: bool
    errors: int
    steps: int
    labels: LabelCounts
    # Of these, the steps before the fork.
    labels_before_fork: LabelCounts
    fork_sequence_no: int | None
    origin: Origin
    # Id of the experiment, the bisection or the diff of a proof.
    origin_id: UUID | None
    origin_name: str
    session: UUID | None
    session_status: SessionStatus | None
    # Comparison with the parent.
    diff: UUID | None
    ars: float | None
    output_similarity: float | None
    tool_accuracy: float | None
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    # Duration of a run whose agent ran; of a fork that follows its recording, the total duration of its live calls.
    latency_ms: float | None
    checks: list[CheckResult] | None
    started_at: datetime | None
    created_at: datetime


class RunTree(Schema):
    """All forks of one recorded run, and their forks. `left_out` is the number of runs beyond the page limit."""

    root: UUID
    asked: UUID
    runs: list[TreeRun]
    left_out: int
