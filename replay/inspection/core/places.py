"""Places of a run that are worth a look, and what is known of its steps. Pure."""

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
# Roles of what a model said
ANSWERS: Final = frozenset({"assistant", "ai", "model"})
CALLS: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


class PlaceKind(StrEnum):
    """Why a place is worth a look."""

    JUDGEMENT = "judgement"
    FAILED_STEP = "failed_step"
    HIDDEN_ERROR = "hidden_error"
    REPEATED_CALL = "repeated_call"
    LOOP = "loop"
    UNSUPPORTED_CLAIM = "unsupported_claim"
    WRITE_FROM_CLAIM = "write_from_claim"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One place: the step (None: the whole run), a JSON pointer into what it shows, and the evidence there.

    `related` are other steps that belong to the evidence: what led to an error, the repeats, the step of a claim.
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

    `given` is the content of its input that no earlier step was given, `input` the whole input of a tool call.
    `producers` are the steps that its input came from. The opening request may begin with answers
    that were given before the run. Of an unread step a stored part is missing or damaged.
    """

    no: int
    type: StepType
    name: str
    status: StepStatus = StepStatus.OK
    error: str = ""
    signature: str = ""
    given: Sequence[JSONValue] = ()
    input: JSONValue = None
    output: JSONValue = None
    producers: tuple[int, ...] = ()
    is_opening: bool = False
    is_unread: bool = False


def quote(text: str) -> str:
    return shorten(" ".join(text.split()), QUOTE)
