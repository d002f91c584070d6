"""An override as the typed values of its title. Pure."""

from functools import partial
from typing import Final

from diffing.sentences.atoms import titles
from diffing.sentences.atoms.titles import MessageOperation, OverrideFacts, OverrideKind, SelectedSteps
from replay.proofs.changes.atoms import MODEL_IDENTITY, Absent, Slot, Value
from traces.core.json_access import as_object, as_objects, is_integer
from traces.core.json_types import JSONObject, JSONValue


def title(slot: Slot, base: Value, candidate: Value) -> str:
    """The title of a change, as an action."""
    return titles.override(_facts(slot, base, candidate))


def _facts(slot: Slot, base: Value, candidate: Value) -> OverrideFacts:
    steps = _steps(slot.match)
    facts = partial(OverrideFacts, steps=steps, field=slot.field)
    if isinstance(candidate, Absent):
        return facts(kind=OverrideKind.RECORDING)
    if slot.category == "messages" and isinstance(candidate, dict):
        return _message_edit(steps, candidate)
    if slot.category in _WHOLE_VALUES:
        return facts(kind=_WHOLE_VALUES[slot.category], value=_value(candidate))
    if isinstance(base, str) and isinstance(candidate, str):
        return facts(kind=OverrideKind.EDIT, base=base, candidate=candidate)
    if candidate is None:
        return facts(kind=OverrideKind.OMISSION)
    if slot.field == "tools":
        names = [str(tool.get("name")) for tool in as_objects(candidate)]
        return facts(kind=OverrideKind.TOOLS if names else OverrideKind.NO_TOOLS, value=titles.names_text(names))
    return facts(kind=OverrideKind.VALUE, value=_value(candidate))


_WHOLE_VALUES: Final = {
    "arguments": OverrideKind.CALL,
    "tool": OverrideKind.ANSWER,
    "output": OverrideKind.ANSWER,
}


def _message_edit(steps: SelectedSteps, edit: JSONObject) -> OverrideFacts:
    content = as_object(edit["message"]).get("content") if "message" in edit else edit.get("content")
    return OverrideFacts(
        kind=OverrideKind.MESSAGE,
        steps=steps,
        value=titles.quote_text(str(content or "")),
        operation=MessageOperation(str(edit.get("op"))),
        index=_integer(edit.get("index")) or 0,
    )


def _steps(match: JSONObject) -> SelectedSteps:
    return SelectedSteps(
        number=_integer(match.get("step")),
        type=str(match.get("type")),
        name=str(match.get("name") or match.get("model") or ""),
        first=_integer(match.get("since")),
        end=_integer(match.get("before")),
    )


def _integer(value: JSONValue) -> int | None:
    return value if is_integer(value) else None


def _value(value: JSONValue) -> str:
    if isinstance(value, dict) and "output" in value:
        return _value(value["output"])
    if isinstance(value, dict) and value.keys() <= MODEL_IDENTITY:
        return " ".join(str(item) for item in value.values())
    return titles.value_text(value)
