"""The steps of recordings whose answers other sessions may get."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.db.models import Q

from replay.core.calls import LIVE_REASONS
from traces.core.json_access import as_object, is_integer
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Step

# What a model, a tool or a search really answered. Overrides, refusals and placeholders are no answers.
_REAL: Final = ~Q(label=Label.SIMULATED) | Q(reason__in=[*LIVE_REASONS, Reason.AGENT_RAN])


def real_numbers(run_id: UUID, *types: StepType) -> set[int]:
    """Return the numbers of the steps with a real answer."""
    steps = Step.objects.filter(_REAL, run_id=run_id, type__in=types)
    return set(steps.values_list("sequence_no", flat=True))


def numbers_by_run(details: Iterable[JSONObject]) -> dict[str, set[int]]:
    """Return the steps that answered calls already, by run: each recorded answer is given once."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for detail in details:
        match = as_object(detail.get("matched"))
        if is_integer(no := match.get("step")):
            numbers[str(match.get("run"))].add(no)
    return numbers
