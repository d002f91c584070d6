"""Which of OpenAI's two APIs answered the recorded calls of a run."""

from functools import lru_cache
from typing import Final
from uuid import UUID

from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.storage import artifacts

# Names of an answer's id in attributes: in the provider's own answer, in OpenTelemetry, and in what clients add.
_IDS: Final = frozenset({"id", "gen_ai.response.id", "response_id", "llm.response.id", "ai.response.id"})
_MOST_CALLS: Final = 5
_MOST_DEPTH: Final = 4


@lru_cache(maxsize=1024)
def uses_responses(run_id: UUID, provider: str) -> bool:
    """Return whether the Responses API of a provider answered the first model calls of a sealed run."""
    steps = Step.objects.filter(run_id=run_id, type=StepType.MODEL, provider__in=["", provider])
    refs = steps.exclude(attributes_ref="").order_by("sequence_no").values_list("attributes_ref", flat=True)
    payloads = artifacts.available(refs[:_MOST_CALLS])
    return any(is_response(payload) for payload in payloads.values())


def is_response(attributes: JSONValue, depth: int = 0) -> bool:
    """Return whether attributes are of a call of the Responses API: its answers have ids of their own kind."""
    if not isinstance(attributes, dict) or depth > _MOST_DEPTH:
        return False
    return any(
        (name in _IDS and isinstance(value, str) and value.startswith("resp_")) or is_response(value, depth + 1)
        for name, value in attributes.items()
    )
