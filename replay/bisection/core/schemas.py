"""REST and socket schemas of bisections."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, model_validator

from replay.checks.schemas import Check, CheckResult, JudgementChoice
from replay.core.plan import PlanRefusal, UninterceptedTool
from replay.core.vocabulary import BisectionStatus, Engine, ProbeVerdict, SessionStatus
from replay.overrides.policy import CallCount, Dollars, Policy, reexecute_by_default
from replay.overrides.profile import OverrideProfile, StepRef
from traces.core.schema import Schema
from traces.core.vocabulary import StepType

Reproduction = Literal["reproduces", "flaky", "does_not_reproduce", "unclear"]
Rescue = Literal["rescued", "not_rescued", "unclear"]
StepConfidence = Literal["high", "medium", "low"]


class BisectBudget(Schema):
    """The budget of all probes together. Findings are kept when it runs out."""

    max_probes: Annotated[int, Field(ge=1, le=500)] = 80
    max_live_calls: Annotated[CallCount, Field(ge=1)] | None = None
    max_cost_usd: Annotated[Dollars, Field(gt=0)] | None = None


PassQuestion = Literal["check", "outcome", "judgement"]


class BisectRequest(JudgementChoice):
    """Fork the run at one step after another and regenerate everything after it, to find the last fork that passes.

    `question` is what passes a run: all `checks`, its app's outcome rule, or one judgement. A fork is judged by its
    validators and by `checks`; with `outcome` and `judgement`, a check has the name of the judgement for which it
    stands in.

    `overrides` apply to every probe, so they match by type: "up to which step would this change still have helped?"
    `reproduce` is the number of whole repeats without overrides, which show first whether the failure is reproducible.
    With the engine `agent`, a runner of the run's app starts the agent for every probe.
    """

    question: PassQuestion = "check"
    checks: Annotated[list[Check], Field(max_length=20)] = []
    # Earlier steps are never regenerated.
    first_step: StepRef | None = None
    overrides: OverrideProfile = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy = Field(default_factory=Policy)
    reproduce: Annotated[int, Field(ge=1, le=20)] = 3
    # At each step that is tried.
    samples: Annotated[int, Field(ge=1, le=20)] = 3
    # At both sides of the turning point.
    confirm: Annotated[int, Field(ge=1, le=50)] = 5
    # Further steps to try if regeneration from the start does not help.
    scan: Annotated[int, Field(ge=0, le=100)] = 4
    parallel: Annotated[int, Field(ge=1, le=16)] = 2
    budget: BisectBudget = Field(default_factory=BisectBudget)
    engine: Engine = Engine.FOLLOW

    _order = model_validator(mode="before")(reexecute_by_default)


class BisectPreview(BisectRequest):
    """The run to bisect, or the diff of which the run that fails the checks is bisected."""

    run: str | None = None
    diff: UUID | None = None

    @model_validator(mode="after")
    def _names_one(self) -> "BisectPreview":
        if (self.run is None) == (self.diff is None):
            raise ValueError("name either `run` or `diff`")
        return self


class ForkStep(Schema):
    """A step from which a probe can regenerate the run."""

    sequence_no: int
    type: StepType
    name: str


class BisectPlan(Schema):
    """The effort of a bisection with one turning point; `most_*` is for the most expensive one."""

    run: UUID | None
    forks: list[ForkStep]
    probes: int
    most_probes: int
    # How often runners start the agent; 0 if the recording is followed.
    agent_starts: int
    most_agent_starts: int
    # What the agent really runs in each start.
    unintercepted_tools: list[UninterceptedTool]
    live_calls: int
    most_live_calls: int
    # null: a live model has no known price.
    cost_usd: float | None
    most_cost_usd: float | None
    recorded: list[CheckResult]
    refusals: list[PlanRefusal]
    warnings: list[str]


class TallyView(Schema):
    """Probes from one step by verdict.

    `assumed` of those that passed and `doubtful` of those that failed rest on a placeholder's answer.
    """

    passed: int = 0
    failed: int = 0
    unclear: int = 0
    running: int = 0
    assumed: int = 0
    doubtful: int = 0


class ForkResult(Schema):
    """The results of regeneration from one step on."""

    step: ForkStep
    counted: TallyView


class CommitStep(Schema):
    """The step at which the run committed to its failure.

    Regenerated from `step` on, the run still passes. Regenerated from `kept`, the next step that can be, it no longer
    does, because the recorded answer of `step` is kept. `kept` null: only recorded steps follow. `earliest` is the
    first step from which the run passes.
    """

    step: ForkStep
    kept: ForkStep | None
    earliest: ForkStep
    # No earlier step is known from which the run fails.
    monotone: bool
    # false: the commit step is `step` or a later one before `kept`.
    settled: bool
    confidence: StepConfidence
    why: str


class BisectResult(Schema):
    """Three results: does the failure come back, does re-running help, and up to which step."""

    # The main result in a few words.
    headline: str
    sentence: str
    reproduction: Reproduction
    repeats: TallyView
    rescue: Rescue
    commit: CommitStep | None
    # The forks that were tried, in order.
    forks: list[ForkResult]
    remarks: list[str]


class ProbeView(Schema):
    """One fork of the run, regenerated from there."""

    number: int
    fork: ForkStep
    # With the overrides.
    changed: bool
    sample: int
    verdict: ProbeVerdict
    checks: list[CheckResult]
    # The beginning of the final answer.
    answer: str
    # Answers replaced by placeholders.
    assumed: int
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
    headline: str
    sentence: str
    forks: int
    probes: int
    live_calls: int
    cost_usd: float | None
    error: str
    created_at: datetime
    ended_at: datetime | None


class BisectionView(BisectionSummary):
    """`seq`: where a socket client resumes. `result`: as far as it is known.

    `waits_for`: which runner has to be started before it can go on, and how; empty if none.
    """

    seq: int
    waits_for: str
    # Which run of the diff it bisects; null: it was not started from a diff.
    side: Literal["base", "candidate"] | None
    # Every step from which the run can be regenerated.
    fork_steps: list[int]
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
