"""Places of a run that are worth a look, and the step contents that the inspection reads. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from diffing.sequences.text_diff import shorten
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus, StepType

QUOTE: Final = 160
FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED})
CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})
# Roles of a model's answers.
ANSWERS: Final = frozenset({"assistant", "ai", "model"})
CALLS: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


class PlaceKind(StrEnum):
    """Reason why a place is worth a look."""

    JUDGEMENT = "judgement"
    FAILED_STEP = "failed_step"
    HIDDEN_ERROR = "hidden_error"
    REPEATED_CALL = "repeated_call"
    LOOP = "loop"
    UNSUPPORTED_CLAIM = "unsupported_claim"
    WRITE_FROM_CLAIM = "write_from_claim"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One place: its step (None for the whole run), a JSON pointer into its output or input, and the evidence there.

    `related` are other steps of the evidence: the producers of a failed input, repeats, or the step of a claim.
    """

    kind: PlaceKind
    step: int | None
    title: str
    text: str = ""
    path: str = ""
    related: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StepContent:
    """A step as the inspection reads it.

    `new_inputs` are the parts of its input that no earlier step received, `input` is the whole input of a tool call,
    `producers` are the steps that its input came from. The opening request may begin with answers from before the run.
    A step is unread if a stored part is missing or damaged.
    """

    no: int
    type: StepType
    name: str
    status: StepStatus = StepStatus.OK
    error: str = ""
    signature: str = ""
    new_inputs: Sequence[JSONValue] = ()
    input: JSONValue = None
    output: JSONValue = None
    producers: tuple[int, ...] = ()
    is_opening: bool = False
    is_unread: bool = False


def quote(text: str) -> str:
    return shorten(" ".join(text.split()), QUOTE)
