"""Types that reports and evidence share."""

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from traces.core.schema import AS_TEXT, schema_item
from traces.core.vocabulary import Label, StepStatus, StepType

Confidence = Literal["high", "medium", "low", "noise"]
Category = Literal["prompt", "retrieval", "tool", "model", "output", "upstream", "structure"]


@schema_item
class StepRef:
    """One side of a pair, with enough to recognise the step."""

    id: UUID
    sequence_no: int
    type: Annotated[StepType, AS_TEXT]
    name: str
    summary: str
    status: Annotated[StepStatus, AS_TEXT]
    label: Annotated[Label, AS_TEXT]
    reason: str


class AttributionVerdict(StrEnum):
    """What two recordings show about their difference."""

    CAUSE = "cause"
    NO_DIFFERENCE = "no_difference"
    NO_EFFECT = "no_effect"
    NOISE = "noise"
    INCONCLUSIVE = "inconclusive"
