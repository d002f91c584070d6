"""Which store a recording says that a retrieval went to."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from traces.core.json_types import JSONValue
from traces.models import Step
from traces.storage import artifacts

# As OpenTelemetry, OpenInference, LangSmith and Prela name it, anywhere in what a step kept of its source.
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
_DEEPEST: Final = 4


def recorded_store(step: UUID) -> str:
    """The name in the words of the recording; empty where it names none."""
    ref = Step.objects.values_list("attributes_ref", flat=True).get(id=step)
    found = dict(_named(artifacts.payload(ref), 0)) if ref else {}
    return next((found[name] for name in _NAMES if name in found), "")


def _named(value: JSONValue, depth: int) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    for name, item in value.items():
        if isinstance(item, str) and item and name in _NAMES:
            yield name, item
        yield from _named(item, depth + 1)
