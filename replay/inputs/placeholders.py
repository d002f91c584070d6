"""Placeholders for outputs that nothing can provide. Pure."""

from functools import lru_cache
from typing import Final

from replay.inputs.texts import texts_in
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType

PLACEHOLDER: Final = "placeholder"
_BEGINNING: Final = "[Forkpoint] No answer for this "


# Many steps in a row get the same placeholder, and its digest is computed once for one object.
@lru_cache(maxsize=16)
def placeholder(type: StepType, note: str) -> JSONValue:
    """Placeholder in the shape of the step type."""
    text = f"{_BEGINNING}{type} step: {note}."
    if type is StepType.MODEL:
        return {"message": {"role": "assistant", "content": text}, "finish_reason": PLACEHOLDER}
    if type is StepType.RETRIEVAL:
        return {"documents": [{"id": "forkpoint-placeholder", "content": text}]}
    return {"text": text} if type is StepType.PROMPT else text


def contains_placeholder(value: JSONValue) -> bool:
    """True if a placeholder stands in a value."""
    return any(_BEGINNING in text for text in texts_in(value))


def is_placeholder(output: JSONValue) -> bool:
    """True if an output is a placeholder."""
    return any(text.startswith(_BEGINNING) for text in texts_in(output))
