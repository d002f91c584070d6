"""The JSON Schemas of the documents that people write and keep: override profiles and policies. Pure."""

from typing import Any, Final

from pydantic import BaseModel

from replay.overrides import OverrideProfile
from replay.policy import Policy

ADDRESS: Final = "/api/v1/schemas/{name}.json"
_DOCUMENTS: Final[dict[str, tuple[type[BaseModel], str]]] = {
    "override-profile": (OverrideProfile, "What a fork changes, from the fork on."),
    "policy": (Policy, "What may go live in a replay, in which order calls are resolved, and where it stops."),
}
NAMES: Final = tuple(_DOCUMENTS)


def document(name: str) -> dict[str, Any]:
    """The schema of one kind of document, as draft 2020-12; raises `KeyError`."""
    model, description = _DOCUMENTS[name]
    found = model.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS.format(name=name),
        **found,
        "description": description,
    }
