"""Titles of changes and of their parts. Pure."""

from typing import Final

from diffing.sentences.changes import edit_phrase
from diffing.sentences.text import format_value
from diffing.sequences.text_diff import shorten
from replay.proofs.changes.atoms import MODEL_IDENTITY, Absent, Slot, Value
from traces.core.json_access import as_objects
from traces.core.json_types import JSONValue

_MAX_QUOTE: Final = 80
_FIELDS: Final = {
    "system": "the system prompt",
    "model": "the model",
    "tools": "the tools",
    "response_format": "the response format",
}
_OPERATIONS: Final = {"insert": "Inserting", "delete": "Deleting", "replace": "Replacing"}


def title(slot: Slot, base: Value, candidate: Value) -> str:
    """The title of a change, as an action."""
    steps = _steps(slot)
    if slot.category == "messages" and isinstance(candidate, dict):
        message = candidate.get("message")
        content = message.get("content") if isinstance(message, dict) else candidate.get("content")
        quote = shorten(str(content or ""), _MAX_QUOTE)
        operation = _OPERATIONS[str(candidate.get("op"))]
        return f"{operation} message {candidate.get('index')} of {steps}" + (f": “{quote}”" if quote else "")
    if slot.category == "arguments" and not isinstance(candidate, Absent):
        return f"Calling {steps} with {_value(candidate)}"
    if slot.category in {"tool", "output"} and not isinstance(candidate, Absent):
        return f"Giving {steps} the answer {_value(candidate)}"
    name = _FIELDS.get(slot.field, f"{slot.field} of {steps}")
    if isinstance(base, str) and isinstance(candidate, str):
        return edit_phrase(base, candidate, name)
    if isinstance(candidate, Absent):
        return f"Leaving {name} as recorded"
    if candidate is None:
        return f"Leaving out {name}"
    if slot.field == "tools":
        return f"Offering {_tool_names(candidate)}"
    return f"Setting {name} to {_value(candidate)}"


def _tool_names(tools: JSONValue) -> str:
    names = [str(tool.get("name")) for tool in as_objects(tools)]
    return f"the tools {shorten(', '.join(names), _MAX_QUOTE)}" if names else "no tools"


def _steps(slot: Slot) -> str:
    """The steps that a slot selects."""
    match = slot.match
    if match.get("step") is not None:
        return f"step {match['step']}"
    name = match.get("name") or match.get("model")
    start = f" from step {match['since']} on" if match.get("since") is not None else ""
    end = f" before step {match['before']}" if match.get("before") is not None else ""
    return f"{match.get('type')} steps" + (f" ({name})" if name else "") + start + end


def _value(value: JSONValue) -> str:
    if isinstance(value, dict) and "output" in value:
        return _value(value["output"])
    if isinstance(value, dict) and value.keys() <= MODEL_IDENTITY:
        return " ".join(str(item) for item in value.values())
    return f"“{shorten(value, _MAX_QUOTE)}”" if isinstance(value, str) else format_value(value)
