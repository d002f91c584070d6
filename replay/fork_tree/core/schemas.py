"""What the REST interface says about the tree of a run's forks."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from replay.checks.schemas import CheckResult
from replay.core.vocabulary import SessionStatus
from traces.core.schema import LabelCounts, Schema
from traces.core.vocabulary import Outcome, RunStatus

Origin = Literal["recorded", "fork", "experiment", "bisection", "proof", "unchanged"]


class TreeRun(Schema):
    """One run of the tree. Scores are against the run that it was forked from, null until the two are compared."""

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
    fork_sequence_no: int | None
    # What the fork changed, in words
    changes: list[str]
    origin: Origin
    # The experiment, the bisection or the diff of a proof
    origin_id: UUID | None
    origin_name: str
    session: UUID | None
    session_status: SessionStatus | None
    # Against the parent
    diff: UUID | None
    ars: float | None
    output_similarity: float | None
    tool_accuracy: float | None
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    # Of its live calls together, of a recorded run its duration
    latency_ms: float | None
    checks: list[CheckResult] | None
    created_at: datetime


class RunTree(Schema):
    """All forks of one recorded run, forks of forks under theirs. `left_out`: more than a page can show."""

    root: UUID
    asked: UUID
    runs: list[TreeRun]
    left_out: int
