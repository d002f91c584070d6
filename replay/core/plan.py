"""Plan of a replay, as shown by the REST API and the command line. Pure."""

from dataclasses import field
from typing import Literal

from replay.core.vocabulary import Engine
from traces.core.schema import LabelCounts, Schema
from traces.core.step_header import step_view
from traces.core.vocabulary import Label, StepType

PlanAction = Literal["inherited", "reuse", "cache", "live", "simulate", "blocked", "unreached"]
ToolConsent = Literal["review", "runner"]


# Not a model of pydantic, which takes ten times as long to create: a plan has as many of them as the run has steps.
@step_view
class PlannedStep:
    __pydantic_config__ = Schema.model_config

    sequence_no: int
    type: StepType
    name: str
    action: PlanAction
    # None for unreached and blocked steps.
    label: Label | None
    reason: str
    # Signature fields that would differ from the recording.
    differs: list[str]
    # Changed steps whose output this step consumes.
    because: list[int]
    # Cost of a live step; None if unknown.
    cost_usd: float | None
    note: str
    # Indices of input messages that a person typed after a changed answer.
    typed: list[int] = field(default_factory=list)


class Determinism(Schema):
    """Kurral's determinism score: the mean of four factors. `score` is null if there is nothing to compare."""

    score: float | None
    factors: dict[str, float]
    threshold: float
    critical_changes: list[str]
    other_changes: list[str]


class PlanRefusal(Schema):
    code: str
    detail: str
    # JSON pointer into the request.
    where: str
    step: int | None = None


class UninterceptedTool(Schema):
    """A tool of the agent that nothing intercepts: in every start of the agent it really runs.

    `consent` is by what it may: its review as safe, or the runner's user (`--allow-tool`). The agent does not start
    while it is null.
    """

    name: str
    consent: ToolConsent | None


class Plan(Schema):
    """Planned outcome of every step from the fork on, and the cost.

    `steps` omits inherited steps (those before the fork); `counts` and `actions` include them.
    """

    fork_sequence_no: int
    # The engine of the request, or the one that was chosen for `auto`.
    engine: Engine = Engine.FOLLOW
    steps: list[PlannedStep]
    actions: dict[PlanAction, int]
    counts: LabelCounts
    # Number of steps that are assumed unaffected and keep their output.
    assumed: int = 0
    live_calls: int
    # None if the price of a live model is unknown.
    cost_usd: float | None
    tokens: int
    duration_ms: float | None
    replay_type: Literal["A", "B"]
    determinism: Determinism
    # How the agent loop was recognised, or why it was not.
    loop: str
    # Version of the app's ignore list for comparing calls; 0 without a list.
    ignore_list: int = 0
    # Of an agent that runs; also where the recording is followed because one of them lacks consent.
    unintercepted_tools: list[UninterceptedTool] = []
    # Outside the gateway, that the agent asked for in earlier starts.
    hosts: list[str] = []
    refusals: list[PlanRefusal]
    warnings: list[str]
