"""What the REST interface and the socket say about bisections."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, model_validator

from replay.checks.schemas import Check, CheckResult
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import BisectionStatus, ProbeVerdict, SessionStatus
from replay.overrides.policy import CallCount, Dollars, Policy
from replay.overrides.profile import OverrideProfile, StepRef
from traces.core.schema import Schema
from traces.core.vocabulary import StepType

Reproduction = Literal["reproduces", "flaky", "does_not_reproduce", "unclear"]
Rescue = Literal["rescued", "not_rescued", "unclear"]
StepConfidence = Literal["high", "medium", "low"]


class BisectBudget(Schema):
    """For all probes together; what was found until it ran out is kept."""

    max_probes: Annotated[int, Field(ge=1, le=500)] = 80
    max_live_calls: Annotated[CallCount, Field(ge=1)] | None = None
    max_cost_usd: Annotated[Dollars, Field(gt=0)] | None = None


class BisectRequest(Schema):
    """Fork the run at one step after another and answer everything from there afresh, until it passes the checks.

    `overrides` hold in every probe, so they match by type: "from which step would this change still have helped?"
    `reproduce` whole repeats without them tell first whether the failure comes back.
    """

    checks: Annotated[list[Check], Field(min_length=1, max_length=20)]
    first_step: StepRef | None = None  # earlier steps are never answered afresh
    overrides: OverrideProfile = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy = Field(default_factory=Policy)
    reproduce: Annotated[int, Field(ge=1, le=20)] = 3
    samples: Annotated[int, Field(ge=1, le=20)] = 3  # at each step that is tried
    confirm: Annotated[int, Field(ge=1, le=50)] = 5  # at the two steps between which it turns
    scan: Annotated[int, Field(ge=0, le=100)] = 4  # further steps to try where not even the start helps
    parallel: Annotated[int, Field(ge=1, le=16)] = 2
    budget: BisectBudget = Field(default_factory=BisectBudget)

    @model_validator(mode="before")
    @classmethod
    def _asks_again(cls, given: Any) -> Any:
        policy = given.get("policy", {}) if isinstance(given, dict) else None
        return {**given, "policy": {"order": "reexecute", **policy}} if isinstance(policy, dict) else given


class BisectPreview(BisectRequest):
    """What is to be bisected: a run, or that run of a diff which fails the checks."""

    run: str | None = None
    diff: UUID | None = None

    @model_validator(mode="after")
    def _names_one(self) -> "BisectPreview":
        if (self.run is None) == (self.diff is None):
            raise ValueError("name either `run` or `diff`")
        return self


class ForkStep(Schema):
    """A step from which a probe can answer afresh."""

    sequence_no: int
    type: StepType
    name: str


class BisectPlan(Schema):
    """What a bisection would take, if the run turns once; `most` is for the costliest place to turn at."""

    run: UUID | None
    forks: list[ForkStep]
    probes: int
    most_probes: int
    live_calls: int
    most_live_calls: int
    cost_usd: float | None  # null: some live model has no known price
    most_cost_usd: float | None
    recorded: list[CheckResult]
    refusals: list[PlanRefusal]
    warnings: list[str]


class Counted(Schema):
    """Probes from one step by their verdict.

    `assumed` of those that passed and `doubtful` of those that failed rest on a placeholder's answer.
    """

    passed: int = 0
    failed: int = 0
    unclear: int = 0
    running: int = 0
    assumed: int = 0
    doubtful: int = 0


class ForkResult(Schema):
    """What is known of answering afresh from one step on."""

    step: ForkStep
    counted: Counted


class CommitStep(Schema):
    """Where the run committed itself.

    From `step` on answered afresh it still passes; from `kept`, the next step that can be, it does not any more,
    because the recorded answer of `step` then stays. `kept` null: only what was recorded comes after.
    `earliest` is the first step from which it passes.
    """

    step: ForkStep
    kept: ForkStep | None
    earliest: ForkStep
    monotone: bool  # no earlier step was found from which it fails
    settled: bool  # false: the turn lies somewhere from `step` on and before `kept`
    confidence: StepConfidence
    why: str


class BisectResult(Schema):
    """Three verdicts: does the failure come back, does answering afresh help, and from which step on."""

    sentence: str
    reproduction: Reproduction
    repeats: Counted
    rescue: Rescue
    commit: CommitStep | None
    forks: list[ForkResult]  # those that were tried, in order
    remarks: list[str]


class ProbeView(Schema):
    """One fork of the run, answered afresh from there."""

    number: int
    fork: ForkStep
    changed: bool  # with the overrides
    sample: int
    verdict: ProbeVerdict
    checks: list[CheckResult]
    answer: str  # the beginning of the final answer
    assumed: int  # placeholders that stood in for answers
    note: str
    session: UUID
    status: SessionStatus
    run: UUID | None
    diff: UUID | None
    live_calls: int
    cost_usd: float | None


class BisectionSummary(Schema):
    id: UUID
    run: UUID
    run_name: str
    diff: UUID | None
    status: BisectionStatus
    sentence: str
    forks: int
    probes: int
    live_calls: int
    cost_usd: float | None
    error: str
    created_at: datetime
    ended_at: datetime | None


class BisectionView(BisectionSummary):
    """`seq` is where a watcher of the socket goes on; the result is what is known so far."""

    seq: int
    fork_steps: list[int]  # every step from which can be answered afresh
    request: BisectRequest
    recorded: list[CheckResult]
    result: BisectResult
    results: list[ProbeView]


class BisectionList(Schema):
    bisections: list[BisectionSummary]


class BisectionChanged(Schema):
    type: Literal["bisection"] = "bisection"
    seq: int
    bisection: BisectionView
