"""Values that a recording does not contain, because they were redacted. Pure.

No live call can be made with them, and a call with the same markers need not be the same call.
"""

from collections.abc import Iterator
from typing import Final

from replay.core.calls import Answer
from replay.inputs.placeholders import contains_placeholder
from replay.inputs.texts import texts_in
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest
from traces.provenance.hidden_content import has_gap, is_hidden
from traces.redaction.markers import FAILURE, kinds

# Kind of a value for which a recorder wrote a marker of its own.
_HIDDEN: Final = "hidden"
# Kind of a text that stands for an answer which nothing could give.
_PLACEHOLDER: Final = "placeholder"
# Messages in an explanation.
_LIST_LIMIT: Final = 8


class RedactedValues:
    """Finds the markers in requests; messages that many requests share are searched once."""

    def __init__(self) -> None:
        # With the message itself, because its id must not be reused.
        self._kinds_by_message: dict[int, tuple[JSONValue, tuple[str, ...]]] = {}

    def reason(self, type: StepType, input: JSONValue) -> str:
        """Return why a live call cannot be made with this input; empty if it can.

        A model is told that an answer is missing; a tool or retriever takes a placeholder for an argument.
        """
        names = dict.fromkeys(self._kinds(input))
        if names.pop(_PLACEHOLDER, _HIDDEN) is None and type is not StepType.MODEL:
            return "its input contains a placeholder"
        if not names:
            return ""
        if FAILURE in names:
            return "its input was not stored, because its redaction failed"
        return f"a live call would need a redacted value ({', '.join(names)}); override the input to make it"

    def with_placeholders(self, answer: Answer, input: JSONValue) -> Answer:
        """Note in a model's live answer which messages of its request are placeholders: no agent would have sent it."""
        messages = ModelRequest(input).messages
        indices = [index for index, message in enumerate(messages) if _PLACEHOLDER in self._kinds_of(message)]
        if not indices:
            return answer
        subject = f"Message {indices[0]}" if len(indices) == 1 else f"{len(indices)} messages"
        verb = "contains" if len(indices) == 1 else "contain"
        note = f"{subject} of its input {verb} a placeholder instead of an answer"
        notes = ". ".join(filter(None, (answer.note, note)))
        return answer.with_detail({**answer.detail, "placeholders": [*indices[:_LIST_LIMIT]]}, note=notes)

    @staticmethod
    def hides_content(input: JSONValue) -> bool:
        """True if other calls may look like one with this input, because markers replace a part of it."""
        return any(map(has_gap, texts_in(input)))

    def _kinds(self, input: JSONValue) -> list[str]:
        messages = ModelRequest(input).messages
        rest = {key: item for key, item in input.items() if key != "messages"} if isinstance(input, dict) else input
        message_kinds = [kind for message in messages for kind in self._kinds_of(message)]
        return [*message_kinds, *_kinds_in(rest if messages else input)]

    def _kinds_of(self, message: JSONValue) -> tuple[str, ...]:
        entry = self._kinds_by_message.get(id(message))
        if entry is None:
            entry = self._kinds_by_message[id(message)] = message, tuple(_kinds_in(message))
        return entry[1]


def _kinds_in(value: JSONValue) -> Iterator[str]:
    yield from kinds(value)
    if contains_placeholder(value):
        yield _PLACEHOLDER
    if any(is_hidden(text) and not any(kinds(text)) for text in texts_in(value)):
        yield _HIDDEN
