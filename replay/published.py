"""The JSON Schemas of what people write and read as files: override profiles, policies, diff reports. Pure."""

from typing import Any, Final, Literal

from pydantic import BaseModel

from diffing.schemas import DiffReport
from replay.overrides import OverrideProfile
from replay.policy import Policy

ADDRESS: Final = "/api/v1/schemas/{name}.json"
# What is read says what is always there; what is written, what may be left out.
_Mode = Literal["serialization", "validation"]
_DOCUMENTS: Final[dict[str, tuple[type[BaseModel], _Mode, str]]] = {
    "override-profile": (OverrideProfile, "validation", "What a fork changes, from the fork on."),
    "policy": (
        Policy, "validation", "What may go live in a replay, in which order calls are resolved, and where it stops.",
    ),
    "diff-report": (
        DiffReport, "serialization", "What differs between two runs, what caused it, and how sure that is.",
    ),
}  # fmt: skip
NAMES: Final = tuple(_DOCUMENTS)


def document(name: str) -> dict[str, Any]:
    """The schema of one kind of document, as draft 2020-12; raises `KeyError`."""
    model, mode, description = _DOCUMENTS[name]
    found = model.model_json_schema(mode=mode)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS.format(name=name),
        **found,
        "description": description,
    }
