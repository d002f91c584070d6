"""The edits that a profile makes to one step. Pure."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from replay.overrides.profile import MessageEdit, ToolOverride
from replay.overrides.request_edits import edit_slots, edited_names, with_system_slots
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType


@dataclass(frozen=True, kw_only=True)
class OverrideValue:
    """A value set by an override; present even if it is null."""

    value: JSONValue

    @cached_property
    def answer(self) -> JSONValue:
        """The value in the shape of a model's output: a text becomes a message."""
        fields = as_object(self.value)
        if "message" in fields:
            return self.value
        if "content" in fields or "tool_calls" in fields:
            return {"message": {"role": "assistant", **fields}}
        content = self.value if isinstance(self.value, str) or self.value is None else str(self.value)
        return {"message": {"role": "assistant", "content": content}}

    def for_step(self, type: StepType) -> JSONValue:
        """The value as output of a step of this type; one object for all steps."""
        return self.answer if type is StepType.MODEL else self.value


@dataclass(frozen=True, kw_only=True)
class Edits:
    """All edits of one step; absent fields are not overridden.

    `message_count`: in a longer conversation, the edits of messages are about this many first ones; None: about all.
    """

    entries: tuple[int, ...] = ()
    prompt: JSONObject = field(default_factory=dict)
    model: JSONObject = field(default_factory=dict)
    retrieval: JSONObject = field(default_factory=dict)
    messages: tuple[MessageEdit, ...] = ()
    message_count: int | None = None
    arguments: OverrideValue | None = None
    tool: ToolOverride | None = None
    output: OverrideValue | None = None

    def apply_to(self, slots: list[list[JSONValue]]) -> list[list[JSONValue]]:
        """Apply the edits of messages and system prompt; each slot contains the replacement of one recorded message."""
        edited_slots = slots
        if self.messages:
            end = len(slots) if self.message_count is None else self.message_count
            edited_slots = [*edit_slots(slots[:end], self.messages), *slots[end:]]
        return with_system_slots(edited_slots, str(self.prompt["system"])) if "system" in self.prompt else edited_slots


NO_EDITS: Final = Edits()


def merge_settings(first: JSONObject, second: JSONObject) -> JSONObject:
    """Merge the settings of two entries for one step; `second` wins.

    `parameters` and `unset` of both are combined.
    """
    settings = {**first, **second}
    removed = [str(name) for name in as_list(second.get("unset"))]
    edited_in_second = {*edited_names({**second, "unset": []})}
    parameters = {**as_object(first.get("parameters")), **as_object(second.get("parameters"))}
    unset = [
        name for name in map(str, as_list(first.get("unset"))) if name not in edited_in_second and name not in removed
    ]
    remaining = {name: value for name, value in settings.items() if name not in {*removed, "parameters", "unset"}}
    parameters = {name: value for name, value in parameters.items() if name not in removed}
    result: JSONObject = {**remaining, **({"parameters": parameters} if parameters else {})}
    return {**result, "unset": list[JSONValue]([*unset, *removed])} if unset or removed else result
