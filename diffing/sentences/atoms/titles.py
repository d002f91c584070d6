"""Titles and descriptions of the changes that a proof tests, and of their parts. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from diffing.sentences.changes import edit_phrase
from diffing.sentences.text import format_value
from diffing.sequences.text_diff import shorten
from traces.core.json_types import JSONValue

_MAX_QUOTE: Final = 80
_MAX_PART_QUOTE: Final = 70


class OverrideKind(StrEnum):
    """What an override does to the steps that it selects."""

    MESSAGE = "message"
    CALL = "call"
    ANSWER = "answer"
    EDIT = "edit"
    RECORDING = "recording"
    OMISSION = "omission"
    TOOLS = "tools"
    NO_TOOLS = "no_tools"
    VALUE = "value"


class MessageOperation(StrEnum):
    INSERT = "insert"
    DELETE = "delete"
    REPLACE = "replace"


@dataclass(frozen=True, kw_only=True)
class SelectedSteps:
    """The steps that an override selects: one by number, or all of a type, by name and range."""

    number: int | None = None
    type: str = ""
    name: str = ""
    first: int | None = None
    end: int | None = None


@dataclass(frozen=True, kw_only=True)
class OverrideFacts:
    """An override as its title describes it; an edit has the texts of both sides."""

    kind: OverrideKind
    steps: SelectedSteps
    field: str = ""
    value: str = ""
    base: str = ""
    candidate: str = ""
    operation: MessageOperation = MessageOperation.REPLACE
    index: int = 0


_FIELDS: Final = {
    "system": "the system prompt",
    "model": "the model",
    "tools": "the tools",
    "response_format": "the response format",
}
_OPERATIONS: Final[Mapping[MessageOperation, str]] = {
    MessageOperation.INSERT: "Inserting",
    MessageOperation.DELETE: "Deleting",
    MessageOperation.REPLACE: "Replacing",
}
_OVERRIDES: Final[Mapping[OverrideKind, str]] = {
    OverrideKind.MESSAGE: "{operation} message {facts.index} of {steps}{quote}",
    OverrideKind.CALL: "Calling {steps} with {facts.value}",
    OverrideKind.ANSWER: "Giving {steps} the answer {facts.value}",
    OverrideKind.RECORDING: "Leaving {name} as recorded",
    OverrideKind.OMISSION: "Omitting {name}",
    OverrideKind.TOOLS: "Offering the tools {facts.value}",
    OverrideKind.NO_TOOLS: "Offering no tools",
    OverrideKind.VALUE: "Setting {name} to {facts.value}",
}


def override(facts: OverrideFacts) -> str:
    """The title of an override, as an action."""
    steps = _steps(facts.steps)
    name = _FIELDS.get(facts.field, f"{facts.field} of {steps}")
    if facts.kind is OverrideKind.EDIT:
        return edit_phrase(facts.base, facts.candidate, name)
    quote = f": {facts.value}" if facts.value else ""
    operation = _OPERATIONS[facts.operation]
    return _OVERRIDES[facts.kind].format(facts=facts, steps=steps, name=name, quote=quote, operation=operation)


def quote_text(text: str) -> str:
    """A text in quotes, shortened; empty for an empty text."""
    quote = shorten(text, _MAX_QUOTE)
    return f"“{quote}”" if quote else ""


def value_text(value: JSONValue) -> str:
    """A value in a title: a text in quotes."""
    return f"“{shorten(value, _MAX_QUOTE)}”" if isinstance(value, str) else format_value(value)


def names_text(names: Sequence[str]) -> str:
    return shorten(", ".join(names), _MAX_QUOTE)


def text_part(base: str, candidate: str) -> str:
    """The title of a part of a text; one side may be empty."""
    if not base.strip() and candidate.strip():
        return f"Adding “{shorten(candidate, _MAX_PART_QUOTE)}”"
    if not candidate.strip() and base.strip():
        return f"Removing “{shorten(base, _MAX_PART_QUOTE)}”"
    return edit_phrase(base, candidate, "the text")


def run_input(base: str, candidate: str) -> str:
    """The title of a change of a run's input."""
    part = "the input of the run"
    is_edit = bool(base.strip() and candidate.strip())
    return edit_phrase(base, candidate, part) if is_edit else f"{text_part(base, candidate)} in {part}"


def item_part(base: Sequence[JSONValue], candidate: Sequence[JSONValue]) -> str:
    """The title of an item of a list, on one side or on both."""
    if not base:
        return f"Adding {_item_name(candidate[0])}"
    if not candidate:
        return f"Omitting {_item_name(base[0])}"
    return f"{_item_name(candidate[0])} instead of {_item_name(base[0])}"


def field_part(name: str, base: Sequence[JSONValue], candidate: Sequence[JSONValue]) -> str:
    """The title of a field that differs; a side without it has no value."""
    left, right = (format_value(side[0]) if side else "nothing" for side in (base, candidate))
    return f"{name}: {left} → {right}"


def part_location(index: int, count: int) -> str:
    return f"Part {index + 1} of {count}."


def setting(name: str, base: JSONValue, candidate: JSONValue) -> str:
    return f"{name}: {format_value(base)} → {format_value(candidate)}"


def request_field(name: str) -> str:
    """The title of a change that the recorded request does not contain."""
    return f"{name} of the request"


def other_settings(step: str) -> str:
    return f"Other settings of {step}"


def several_steps(title: str, more: int) -> str:
    """The title of a change of several steps, of which the first is named."""
    return f"{title}, and {more} more step{'' if more == 1 else 's'}" if more else title


def request_of_step(text: str) -> str:
    """What a step that only one run has was asked."""
    return f"It was asked {quote_text(text)}."


def made_up_answer(number: int, name: str) -> str:
    return f"The replay itself answered step {number} ({name})"


def made_up_reason(reason: str) -> str:
    """How a replay came to answer by itself."""
    return f"By its policy: {reason.removeprefix('simulation_').replace('_', ' ')}."


def step_location(number: int, type: str, more: int) -> str:
    """Where a difference is, and at how many more steps."""
    also = f" and {more} more" if more else ""
    return f"At step {number} ({type}){also}."


def locations(numbers: Sequence[int]) -> str:
    """The recorded steps on which an override acts."""
    if not numbers:
        return "At no step of the recording."
    return f"At step {numbers[0]}" + (f" and {len(numbers) - 1} more." if len(numbers) > 1 else ".")


def _steps(steps: SelectedSteps) -> str:
    if steps.number is not None:
        return f"step {steps.number}"
    name = f" ({steps.name})" if steps.name else ""
    start = f" from step {steps.first} on" if steps.first is not None else ""
    end = f" before step {steps.end}" if steps.end is not None else ""
    return f"{steps.type} steps{name}{start}{end}"


def _item_name(item: JSONValue) -> str:
    """The name of an item: of a document its id or title."""
    if isinstance(item, dict):
        name = item.get("id") or item.get("title") or item.get("name") or item.get("content")
        return f"“{shorten(str(name), _MAX_PART_QUOTE)}”" if name else format_value(item)
    return format_value(item)
