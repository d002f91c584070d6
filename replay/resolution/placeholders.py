"""Placeholders for outputs that nothing can give. Pure."""

from typing import Final

from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType

PLACEHOLDER: Final = "placeholder"


def placeholder(type: StepType, note: str) -> JSONValue:
    """A value of the step's shape that says it is not an answer."""
    text = f"[Forkpoint] No answer for this {type} step: {note}."
    if type is StepType.MODEL:
        return {"message": {"role": "assistant", "content": text}, "finish_reason": PLACEHOLDER}
    if type is StepType.RETRIEVAL:
        return {"documents": [{"id": "forkpoint-placeholder", "content": text}]}
    return text
