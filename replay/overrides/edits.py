"""What a profile sets on one step. Pure."""

from dataclasses import dataclass, field
from typing import Final

from replay.overrides.profile import MessageEdit, ToolOverride
from replay.overrides.request_edits import _names, _object, edited_names
from traces.core.json_types import JSONObject, JSONValue


@dataclass(frozen=True, kw_only=True)
class OverrideValue:
    """A value that an operator gave: present even when it is null."""

    value: JSONValue


@dataclass(frozen=True, kw_only=True)
class Edits:
    """Everything the profile sets on one step; absent fields are not overridden."""

    entries: tuple[int, ...] = ()
    prompt: JSONObject = field(default_factory=dict)
    model: JSONObject = field(default_factory=dict)
    retrieval: JSONObject = field(default_factory=dict)
    messages: tuple[MessageEdit, ...] = ()
    arguments: OverrideValue | None = None
    tool: ToolOverride | None = None
    output: OverrideValue | None = None


NO_EDITS: Final = Edits()


def merge_settings(one: JSONObject, other: JSONObject) -> JSONObject:
    """Two entries of one step: further parameters, and what is left out, of both; the other one wins."""
    own = {**one, **other}
    gone = [str(name) for name in _names(other.get("unset"))]
    said = {*edited_names({**other, "unset": []})}
    parameters = {**_object(one.get("parameters")), **_object(other.get("parameters"))}
    unset = [name for name in map(str, _names(one.get("unset"))) if name not in said and name not in gone]
    kept = {name: value for name, value in own.items() if name not in {*gone, "parameters", "unset"}}
    parameters = {name: value for name, value in parameters.items() if name not in gone}
    both: JSONObject = {**kept, **({"parameters": parameters} if parameters else {})}
    return {**both, "unset": list[JSONValue]([*unset, *gone])} if unset or gone else both
