"""The vector store that a recording names for a retrieval."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from traces.core.json_types import JSONValue
from traces.models import Step
from traces.storage import artifacts

# Attribute names of OpenTelemetry, OpenInference, LangSmith and Prela, at any depth of a step's source attributes.
_NAMES: Final = (
    "db.system.name",
    "db.system",
    "vector_db.vendor",
    "ls_vector_store_provider",
    "retriever.type",
    "retrieval.vendor",
    "gen_ai.data_source.id",
    "ls_retriever_name",
    "store",
)
_MAX_DEPTH: Final = 4


def recorded_store(step: UUID) -> str:
    """Return the store's name as recorded; empty if the recording names none."""
    ref = Step.objects.values_list("attributes_ref", flat=True).get(id=step)
    attributes = dict(_store_attributes(artifacts.payload(ref), 0)) if ref else {}
    return next((attributes[name] for name in _NAMES if name in attributes), "")


def _store_attributes(value: JSONValue, depth: int) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return
    for name, item in value.items():
        if isinstance(item, str) and item and name in _NAMES:
            yield name, item
        yield from _store_attributes(item, depth + 1)
