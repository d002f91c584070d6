"""Plans of a replay, as the REST interface and the command line show them. Pure."""

from typing import Literal

from traces.core.schema import LabelCounts, Schema
from traces.core.vocabulary import Label, StepType

PlanAction = Literal["inherited", "reuse", "cache", "live", "simulate", "blocked", "unreached"]


class PlannedStep(Schema):
    sequence_no: int
    type: StepType
    name: str
    action: PlanAction
    label: Label | None  # null: unreached or blocked
    reason: str
    differs: list[str]  # fields of the signature that would differ from the recording
    because: list[int]  # the changed steps that reach this one directly
    cost_usd: float | None  # of a live step; null: unknown
    note: str
    typed: list[int] = []  # messages of the input, from 0, that a person typed after an answer that changes


class Determinism(Schema):
    """Kurral's score: mean of the four factors; `score` null when there is nothing to compare with."""

    score: float | None
    factors: dict[str, float]
    threshold: float
    critical_changes: list[str]
    other_changes: list[str]


class PlanRefusal(Schema):
    code: str
    detail: str
    where: str  # JSON pointer into the request
    step: int | None = None


class Plan(Schema):
    """What a replay would do with every step from the fork on, and what it would cost.

    `steps` leaves out inherited ones (all before the fork); they count in `counts` and `actions`.
    """

    fork_sequence_no: int
    steps: list[PlannedStep]
    actions: dict[PlanAction, int]
    counts: LabelCounts
    assumed: int = 0  # steps that keep their output on the assumption that the change does not reach them
    live_calls: int
    cost_usd: float | None  # null: some live model has no known price
    tokens: int
    duration_ms: float | None
    replay_type: Literal["A", "B"]
    determinism: Determinism
    loop: str  # how the agent loop was recognised, or why not
    ignore_list: int = 0  # the version of the app's ignore list under which calls are compared; 0: there is none
    refusals: list[PlanRefusal]
    warnings: list[str]
