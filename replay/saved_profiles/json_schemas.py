"""The JSON Schemas of what people write and read as files: override profiles, policies, diff reports. Pure."""

from typing import Any, Final, Literal

from pydantic import BaseModel

from diffing.schemas.report import DiffReport
from replay.overrides.policy import Policy
from replay.overrides.profile import KEPT_NAMES, OWN_NAMES, OverrideProfile

ADDRESS: Final = "/api/v1/schemas/{name}.json"
# What is read says what is always there; what is written, what may be left out.
_Mode = Literal["serialization", "validation"]
_DOCUMENTS: Final[dict[str, tuple[type[BaseModel], _Mode, str]]] = {
    "override-profile": (OverrideProfile, "validation", "What a fork changes, from the fork on."),
    "policy": (
        Policy,
        "validation",
        "What may go live in a replay, in which order calls are resolved, and where it stops.",
    ),
    "diff-report": (
        DiffReport,
        "serialization",
        "What differs between two runs, what caused it, and how sure that is.",
    ),
}
NAMES: Final = tuple(_DOCUMENTS)
_SAID: Final[dict[str, Any]] = {"not": {"type": "null"}}
_SAYS_STEP: Final[dict[str, Any]] = {"required": ["step"], "properties": {"step": _SAID}}
# What the models check in code. Not in their own schemas, because client generators make unreadable types of it.
_RULES: Final[dict[str, dict[str, Any]]] = {
    # a step or a type, and nothing beside a step
    "Match": {
        "anyOf": [_SAYS_STEP, {"required": ["type"], "properties": {"type": _SAID}}],
        "if": _SAYS_STEP,
        "then": {
            "properties": {
                **{name: {"enum": [None, ""]} for name in ("type", "name", "model")},
                **{name: {"type": "null"} for name in ("since", "before")},
            },
        },
    },
    "Override": {"minProperties": 2},  # the match and something to set
    # a whole message stands for content and role
    "MessageEdit": {
        "if": {"required": ["message"], "properties": {"message": _SAID}},
        "then": {
            "properties": {
                "op": {"enum": ["replace", "insert"]},
                "content": {"type": "null"},
                "role": {"type": "null"},
                "message": {"required": ["role"], "properties": {"role": {"type": "string"}}},
            },
        },
    },
    "ModelOverride": {
        "allOf": [
            {"properties": {"parameters": {"propertyNames": {"not": {"enum": list(OWN_NAMES)}}}}},
            {"properties": {"unset": {"items": {"not": {"enum": list(KEPT_NAMES)}}}}},
        ],
    },
}


def document(name: str) -> dict[str, Any]:
    """The schema of one kind of document, as draft 2020-12; raises `KeyError`."""
    model, mode, description = _DOCUMENTS[name]
    found = model.model_json_schema(mode=mode)
    for name_of_part, part in found.get("$defs", {}).items():
        part.update(_RULES.get(name_of_part, {}))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS.format(name=name),
        **found,
        "description": description,
    }
