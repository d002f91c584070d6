"""Spans of prompt flow (Azure AI): inputs and outputs of functions in attributes, or in events of these names."""

from collections.abc import Sequence
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_shared
from traces.importers.otlp.wire import SpanEvent

_MARK: Final = "framework"
MARKS: Final = frozenset({_MARK})
_NAME: Final = "promptflow"
_MESSAGE: Final = "llm.generated_message"
_EVENTS: Final = {
    "promptflow.function.inputs": "inputs",
    "promptflow.function.output": "output",
    "promptflow.llm.generated_message": _MESSAGE,
}
# OpenInference's names of what these state.
_ATTRIBUTES: Final = {"inputs": "input.value", "output": "output.value", "span_type": "openinference.span.kind"}
# A function may be a tool that a model called, which its name shows.
_NO_KINDS: Final = frozenset({"function", "flow"})


def is_span(attributes: JSONObject) -> bool:
    return attributes.get(_MARK) == _NAME


def translate(attributes: JSONObject, events: Sequence[SpanEvent]) -> tuple[JSONObject, list[SpanEvent]]:
    """Return the attributes under OpenInference's names, and the events that state something else."""
    payloads = {_EVENTS[event.name]: event.body.get("payload") for event in events if event.name in _EVENTS}
    fields = {**{name: value for name, value in payloads.items() if value is not None}, **attributes}
    rest = [event for event in events if event.name not in _EVENTS or not _is_copy(event, fields)]
    if _has_message(fields.get("output"), fields.get(_MESSAGE)):
        del fields[_MESSAGE]
    kind = as_text(fields.get("span_type")).lower()
    names = {name: value for name, value in _ATTRIBUTES.items() if name != "span_type" or kind not in _NO_KINDS}
    return {names.get(name, name): value for name, value in fields.items()}, rest


def _has_message(output: JSONValue, message: JSONValue) -> bool:
    """Return whether a response contains the message that is recorded beside it."""
    choices = as_objects(as_object(parse_shared(output)).get("choices"))
    return message is not None and parse_shared(message) in [choice.get("message") for choice in choices]


def _is_copy(event: SpanEvent, fields: JSONObject) -> bool:
    return event.body.keys() <= {"payload"} and event.body.get("payload") == fields.get(_EVENTS[event.name])
