"""Keys by which steps of two runs are found to be the same, the strongest evidence first."""

from collections.abc import Callable, Hashable
from typing import Final

from diffing.compare.run_side import SideStep
from diffing.schemas.sections import FoundBy
from traces.core.vocabulary import StepType

# Shorter answers, such as labels and votes, do not identify a step.
_LONG_ANSWER: Final = 60

Key = Callable[[SideStep], Hashable]


def call_key(step: SideStep) -> Hashable:
    """Key that is equal for two steps that made the same call."""
    return (step.type, step.role, step.signature or step.input_ref)


def _call_with_answer(step: SideStep) -> Hashable:
    """Key of a call with its answer, without the fields that signatures leave out."""
    call = step.signature or step.input_ref
    return (step.type, step.role, call, step.output_ref) if call or step.output_ref else None


def _call(step: SideStep) -> Hashable:
    """Key of a call. None for models: for them, the answer identifies the step better than the request."""
    return request_key(step) if step.type != StepType.MODEL else None


def request_key(step: SideStep) -> Hashable:
    return call_key(step) if step.signature or step.input_ref else None


def answer_key(step: SideStep) -> Hashable:
    """Key of an answer. None for tools, whose answers are often just `ok`."""
    return (step.type, step.role, step.output_ref) if step.output_ref and step.type != StepType.TOOL else None


def long_answer_key(step: SideStep) -> Hashable:
    return answer_key(step) if len(step.summary) >= _LONG_ANSWER else None


# From the strongest to the weakest: key, name of the evidence, confidence.
LEVELS: Final[tuple[tuple[Key, FoundBy, float], ...]] = (
    (_call_with_answer, "signature", 1.0),
    (_call, "signature", 0.98),
    (answer_key, "sequence", 0.95),
    (request_key, "signature", 0.9),
)
