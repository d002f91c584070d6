"""Placeholders for outputs that nothing can provide. Pure."""

from functools import lru_cache
from typing import Final

from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType

PLACEHOLDER: Final = "placeholder"


# Many steps in a row get the same placeholder, and its digest is computed once for one object.
@lru_cache(maxsize=16)
def placeholder(type: StepType, note: str) -> JSONValue:
    """Placeholder in the shape of the step type."""
    text = f"[Forkpoint] No answer for this {type} step: {note}."
    if type is StepType.MODEL:
        return {"message": {"role": "assistant", "content": text}, "finish_reason": PLACEHOLDER}
    if type is StepType.RETRIEVAL:
        return {"documents": [{"id": "forkpoint-placeholder", "content": text}]}
    return {"text": text} if type is StepType.PROMPT else text
