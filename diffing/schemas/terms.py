"""The words that reports and evidence share."""

from typing import Final, Literal
from uuid import UUID

from traces.core.schema import Schema
from traces.core.vocabulary import Label, StepStatus, StepType

Confidence = Literal["high", "medium", "low", "noise"]
Category = Literal["prompt", "retrieval", "tool", "model", "output", "upstream", "structure"]
# What recordings may lack, as sections name it.
SYSTEM_PROMPT: Final = "system prompt"
MODEL_NAME: Final = "the name of the model"


class StepRef(Schema):
    """One side of a pair, with what a reader needs to recognise it."""

    id: UUID
    sequence_no: int
    type: StepType
    name: str
    summary: str
    status: StepStatus
    label: Label
    reason: str
