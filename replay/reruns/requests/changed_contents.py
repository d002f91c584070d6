"""The steps inside of recorded calls that a fork overrides: a call that is answered does not make them."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from replay.reruns import recordings
from replay.reruns.core.recorded_calls import RecordedRequest
from traces.models import Step

# The detail of an answered call that may contain overridden ones.
CHANGED_CONTENTS: Final = "changed_steps"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedContents:
    """The overridden steps inside of a call: the first that surely is, and those that may be.

    A model call is surely inside of the call that its client named, if any. Of a client that names none, only the time
    of a call is known, so any call that was open meanwhile may have made it.
    """

    first: int | None = None
    possible: Sequence[int] = ()


NO_CONTENTS: Final = ChangedContents()


def load(run_id: UUID, numbers: Collection[int]) -> Mapping[int, ChangedContents]:
    """Return what each call of a run contains of these steps; calls without any are absent."""
    if not numbers:
        return {}
    steps = Step.objects.filter(run_id=run_id, parent_no__isnull=False)
    parents = dict(steps.values_list("sequence_no", "parent_no"))
    contents: dict[int, ChangedContents] = {}
    for no in sorted(numbers, reverse=True):
        outer = parents.get(no)
        while outer is not None:
            contents[outer] = ChangedContents(first=no)
            outer = parents.get(outer)
    models = recordings.load(run_id).calls.of_kind("").requests
    loose_calls = [call for call in models if call.no in numbers and call.no not in parents and not call.lane]
    for no, possible in _in_time(recordings.load_tool_calls(run_id), loose_calls).items():
        contents[no] = replace(contents.get(no, NO_CONTENTS), possible=possible)
    return contents


def _in_time(tools: Sequence[RecordedRequest], models: Sequence[RecordedRequest]) -> Mapping[int, Sequence[int]]:
    """Return the model calls that were made while each tool ran, where there are any."""
    calls = sorted(models, key=_start)
    numbers: dict[int, Sequence[int]] = {}
    for tool in tools:
        first, last = bisect_left(calls, tool.start_s, key=_start), bisect_right(calls, tool.end_s, key=_start)
        if contents := [call.no for call in calls[first:last] if 0 < call.end_s <= tool.end_s]:
            numbers[tool.no] = contents
    return numbers


def _start(call: RecordedRequest) -> float:
    return call.start_s
