"""JSON Schemas of override profiles, policies and diff reports. Pure."""

from typing import Any, Final, Literal

from pydantic import BaseModel

from diffing.schemas.report import DiffReport
from replay.overrides.policy import Policy
from replay.overrides.profile import KEPT_NAMES, OWN_NAMES, OverrideProfile

ADDRESS: Final = "/api/v1/schemas/{name}.json"
# Documents that users read list the fields that are always present, documents that users write the optional ones.
_Mode = Literal["serialization", "validation"]
_DOCUMENTS: Final[dict[str, tuple[type[BaseModel], _Mode, str]]] = {
    "override-profile": (OverrideProfile, "validation", "What a fork changes, from the fork step on."),
    "policy": (
        Policy,
        "validation",
        "Which calls of a replay may go live, in which order calls are resolved, and where the replay stops.",
    ),
    "diff-report": (
        DiffReport,
        "serialization",
        "The differences between two runs, their cause, and how certain it is.",
    ),
}
NAMES: Final = tuple(_DOCUMENTS)
_NOT_NULL: Final[dict[str, Any]] = {"not": {"type": "null"}}
_HAS_STEP: Final[dict[str, Any]] = {"required": ["step"], "properties": {"step": _NOT_NULL}}
# Rules that the models check in code. They are not in the models' schemas, since client generators would turn them into
# unreadable types.
_RULES: Final[dict[str, dict[str, Any]]] = {
    # A step or a type, and no other selector beside a step.
    "Match": {
        "anyOf": [_HAS_STEP, {"required": ["type"], "properties": {"type": _NOT_NULL}}],
        "if": _HAS_STEP,
        "then": {
            "properties": {
                **{name: {"enum": [None, ""]} for name in ("type", "name", "model")},
                **{name: {"type": "null"} for name in ("since", "before")},
            },
        },
    },
    "Override": {"minProperties": 2},  # the match and something to set
    # A whole message replaces content and role; passages exclude all three.
    "MessageEdit": {
        "allOf": [
            {
                "if": {"required": ["message"], "properties": {"message": _NOT_NULL}},
                "then": {
                    "properties": {
                        "op": {"enum": ["replace", "insert"]},
                        "content": {"type": "null"},
                        "role": {"type": "null"},
                        "message": {"required": ["role"], "properties": {"role": {"type": "string"}}},
                    },
                },
            },
            {
                "if": {"required": ["passages"], "properties": {"passages": _NOT_NULL}},
                "then": {
                    "properties": {
                        "op": {"enum": ["replace"]},
                        **{name: {"type": "null"} for name in ("content", "role", "message")},
                    },
                },
            },
        ],
    },
    "ModelOverride": {
        "allOf": [
            {"properties": {"parameters": {"propertyNames": {"not": {"enum": list(OWN_NAMES)}}}}},
            {"properties": {"unset": {"items": {"not": {"enum": list(KEPT_NAMES)}}}}},
        ],
    },
}


def document(name: str) -> dict[str, Any]:
    """Return the schema of one kind of document, as draft 2020-12; raises `KeyError`."""
    model, mode, description = _DOCUMENTS[name]
    schema = model.model_json_schema(mode=mode)
    for part_name, part in schema.get("$defs", {}).items():
        part.update(_RULES.get(part_name, {}))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS.format(name=name),
        **schema,
        "description": description,
    }
