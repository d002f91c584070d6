"""What the REST interface and the socket say about experiments."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, model_validator

from replay.checks.schemas import Check, CheckResult
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import ExperimentStatus, SessionStatus
from replay.overrides.policy import CallCount, Dollars, Policy
from replay.overrides.profile import MOST_ENTRIES, Override, OverrideProfile, StepRef
from traces.core.schema import LabelCounts, Schema

Name = Annotated[str, Field(min_length=1, max_length=120)]


class AxisValue(Schema):
    """One setting of an axis; without overrides it is what was recorded."""

    name: Name
    overrides: Annotated[list[Override], Field(max_length=MOST_ENTRIES)] = []


class Axis(Schema):
    name: Name
    values: Annotated[list[AxisValue], Field(min_length=1, max_length=50)]


class ExperimentBudget(Schema):
    """For all rows together; the budget of the policy holds for each row."""

    max_cost_usd: Dollars | None = None
    max_live_calls: CallCount | None = None


class ExperimentRequest(Schema):
    """Forks of one run at one step: every combination of the axes, `samples` times. `overrides` hold in every row.

    Unless told otherwise every model step is asked again, because samples that reuse an answer are no samples.
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
    budget: ExperimentBudget = Field(default_factory=ExperimentBudget)

    @model_validator(mode="before")
    @classmethod
    def _asks_again(cls, given: Any) -> Any:
        policy = given.get("policy", {}) if isinstance(given, dict) else None
        return {**given, "policy": {"order": "reexecute", **policy}} if isinstance(policy, dict) else given


class Setting(Schema):
    axis: str
    value: str


class CellPlan(Schema):
    """The plan of one row of a cell; its samples cost the same."""

    cell: int
    settings: list[Setting]
    live_calls: int
    cost_usd: float | None  # null: some live model has no known price
    tokens: int
    warnings: list[str]


class ExperimentPlan(Schema):
    """What the whole experiment would do and cost. `refusals` point into the request."""

    rows: int
    cells: list[CellPlan]
    live_calls: int
    cost_usd: float | None
    tokens: int
    refusals: list[PlanRefusal]
    warnings: list[str]


class ExperimentRowView(Schema):
    """One replay of one cell. Scores are against the source, null until the replay has been compared."""

    number: int
    cell: int
    sample: int
    settings: list[Setting]
    session: UUID
    run: UUID | None
    diff: UUID | None
    status: SessionStatus
    queued: bool  # waits for its turn
    resolved_steps: int
    planned_steps: int
    labels: LabelCounts
    live_calls: int
    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    latency_ms: float | None  # of its live calls together
    ars: float | None
    output_similarity: float | None
    similarity_method: str
    new_tools: int | None
    unused_tools: int | None
    checks: list[CheckResult] | None
    answer: str  # the beginning of the final answer
    error: str


class Spread(Schema):
    mean: float
    min: float
    max: float


class CellView(Schema):
    """What the finished rows of one combination have in common; a spread is null when no row knows the figure."""

    cell: int
    settings: list[Setting]
    rows: int
    finished: int
    failed: int
    pass_rate: float | None  # rows that passed every check, of those that ended; null without checks
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
    """`seq` is where a watcher of the socket goes on."""

    seq: int
    request: ExperimentRequest
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
