"""REST and socket schemas of experiments."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, model_validator

from replay.checks.schemas import Check, CheckResult
from replay.core.plan import PlanRefusal, UninterceptedTool
from replay.core.vocabulary import Engine, ExperimentStatus, SessionStatus
from replay.overrides.policy import CallCount, Dollars, Policy, reexecute_by_default
from replay.overrides.profile import MOST_ENTRIES, Override, OverrideProfile, StepRef
from traces.core.schema import LabelCounts, Schema

Name = Annotated[str, Field(min_length=1, max_length=120)]


class AxisValue(Schema):
    """One value of an axis; without overrides it is the recorded one."""

    name: Name
    overrides: Annotated[list[Override], Field(max_length=MOST_ENTRIES)] = []


class Axis(Schema):
    name: Name
    values: Annotated[list[AxisValue], Field(min_length=1, max_length=50)]


class ExperimentBudget(Schema):
    """The budget of all rows together; the policy's budget limits each row."""

    max_cost_usd: Dollars | None = None
    max_live_calls: CallCount | None = None


class ExperimentRequest(Schema):
    """Forks of one run at one step: every combination of the axes, `samples` times. `overrides` apply to every row.

    By default every model step is requested again, because samples that reuse an answer are not samples.
    With the engine `agent`, a runner of the run's app starts the agent for every row.
    """

    name: Annotated[str, Field(max_length=200)] = ""
    run: str
    fork_step: StepRef | None = None
    overrides: OverrideProfile = Field(default_factory=lambda: OverrideProfile(overrides=[]))
    policy: Policy = Field(default_factory=Policy)
    axes: Annotated[list[Axis], Field(max_length=6)] = []
    samples: Annotated[int, Field(ge=1, le=50)] = 1
    checks: Annotated[list[Check], Field(max_length=20)] = []
    parallel: Annotated[int, Field(ge=1, le=16)] = 2
    engine: Engine = Engine.FOLLOW
    budget: ExperimentBudget = Field(default_factory=ExperimentBudget)

    _order = model_validator(mode="before")(reexecute_by_default)


class Setting(Schema):
    axis: str
    value: str


class CellPlan(Schema):
    """The plan of one row of a cell; its samples cost the same."""

    cell: int
    settings: list[Setting]
    live_calls: int
    # null: a live model has no known price.
    cost_usd: float | None
    tokens: int
    warnings: list[str]


class ExperimentPlan(Schema):
    """The plan and cost of a whole experiment. `refusals` point into the request."""

    rows: int
    cells: list[CellPlan]
    # How often runners start the agent; 0 if the recording is followed.
    agent_starts: int
    # What the agent really runs in each start.
    unintercepted_tools: list[UninterceptedTool]
    live_calls: int
    cost_usd: float | None
    tokens: int
    refusals: list[PlanRefusal]
    warnings: list[str]


class ExperimentRowView(Schema):
    """One replay of one cell. Scores compare it with the source; they are null until then."""

    number: int
    cell: int
    sample: int
    settings: list[Setting]
    session: UUID
    run: UUID | None
    diff: UUID | None
    status: SessionStatus
    # Waits for a free slot.
    queued: bool
    resolved_steps: int
    planned_steps: int
    labels: LabelCounts
    live_calls: int
    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    # The total of its live calls, or of the run whose agent ran.
    latency_ms: float | None
    ars: float | None
    output_similarity: float | None
    similarity_method: str
    new_tools: int | None
    unused_tools: int | None
    checks: list[CheckResult] | None
    # Why its checks prove nothing, e.g. because a placeholder stands for the final answer; empty if they do.
    unverified: str
    # The beginning of the final answer.
    answer: str
    error: str


class Spread(Schema):
    mean: float
    min: float
    max: float


class RateInterval(Schema):
    low: float
    high: float


class CellView(Schema):
    """Aggregates of the finished rows of one combination; a spread is null if no row has the value."""

    cell: int
    settings: list[Setting]
    rows: int
    finished: int
    failed: int
    # Of these rows, the checks decide: they were evaluated on an answer, or the row failed. 0 without checks.
    verdicts: int
    # Rows that passed every check.
    passed: int
    # Rows whose checks prove nothing. They are not a part of the rate.
    unverified: int
    # `passed` of `verdicts`; null if no row is verified.
    pass_rate: float | None
    # The 95 % interval (Wilson) of the rate.
    pass_interval: RateInterval | None
    ars: Spread | None
    output_similarity: Spread | None
    tokens: Spread | None
    cost_usd: Spread | None
    latency_ms: Spread | None


class ExperimentSummary(Schema):
    id: UUID
    name: str
    status: ExperimentStatus
    source_run: UUID
    source_name: str
    fork_sequence_no: int
    cells: int
    samples: int
    rows: int
    finished: int
    failed: int
    live_calls: int
    cost_usd: float | None
    created_at: datetime
    ended_at: datetime | None


class ExperimentView(ExperimentSummary):
    """`seq`: where a socket client resumes.

    `waits_for`: which runner has to be started before it can go on, and how; empty if none.
    """

    seq: int
    request: ExperimentRequest
    waits_for: str
    aggregates: list[CellView]
    results: list[ExperimentRowView]


class ExperimentList(Schema):
    experiments: list[ExperimentSummary]


class ExperimentRowChanged(Schema):
    type: Literal["experiment_row"] = "experiment_row"
    seq: int
    row: ExperimentRowView


class ExperimentChanged(Schema):
    type: Literal["experiment"] = "experiment"
    seq: int
    experiment: ExperimentSummary
    aggregates: list[CellView]
