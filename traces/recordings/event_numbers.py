"""Conflicts of arriving events: two different events of a run with the same number. The first one counts."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

import orjson

from traces.core.json_types import JSONObject
from traces.errors import ProblemError
from traces.importers.formats.tracing.event_lines import read_event
from traces.models import Segment
from traces.storage.compression import decompress


class NumberConflict(ProblemError):
    """Events that contradict those that are stored; nothing was stored."""

    code = "conflict"
    status = 409


class Conflict(NamedTuple):
    """An event that was not stored: its place in the request, and the event that has its number."""

    place: int
    reason: str


def split_lines(
    recording_id: UUID | None, data: bytes, numbers: Sequence[int], places: Sequence[int]
) -> tuple[bytes, list[Conflict]]:
    """Return the lines of new events that contradict no earlier one, and the conflicts of the others.

    `numbers` and `places` are those of the lines, `recording_id` is None for a new recording. Most requests continue
    their run, so that nothing is read for them.
    """
    earlier = {} if recording_id is None else dict(_stored_events(recording_id, set(numbers)))
    if not earlier and len(set(numbers)) == len(numbers):
        return data, []
    lines: list[bytes] = []
    conflicts: list[Conflict] = []
    for line, number, place in zip(data.splitlines(keepends=True), numbers, places, strict=True):
        event = orjson.loads(line)
        if (first_event := earlier.setdefault(number, event)) == event:
            lines.append(line)
        else:
            conflicts.append(Conflict(place, _describe(first_event, event)))
    return b"".join(lines), conflicts


def _stored_events(recording_id: UUID, numbers: set[int]) -> Iterator[tuple[int, JSONObject]]:
    """Yield the stored events with these numbers; the first of each last."""
    overlapping = Segment.objects.filter(
        recording=recording_id, last_number__gte=min(numbers), first_number__lte=max(numbers)
    )
    for data in overlapping.order_by("-id").values_list("data", flat=True):
        for line in reversed(decompress(data).splitlines()):
            event = orjson.loads(line)
            if event["sequence_no"] in numbers:
                yield event["sequence_no"], event


def _describe(first: JSONObject, second: JSONObject) -> str:
    """Name two different events with the same number."""
    event = read_event(first, "")
    return (
        f"event {event.number} of run “{event.run_id[:60]}” is {event.title}: "
        f"a different event, {read_event(second, '').title}, has the same number"
    )
