"""Canonical events of the SDK: check each one, and store those of a run as a segment."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import orjson
from django.db import transaction

from traces.collectors import event_bodies
from traces.collectors.event_bodies import EventRecord
from traces.collectors.json_bodies import JsonBody, read_json
from traces.collectors.schemas import NewRun
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_object
from traces.importers.formats.frameworks import krabs
from traces.importers.formats.tracing.event_lines import FORMAT, OPENING, RUN_ENDS, Event, check, read_event
from traces.recordings import arrivals
from traces.recordings.arrivals import NewSegment
from traces.recordings.event_numbers import NumberConflict
from traces.schemas import EventReceipt, RejectedEvent

# Of the event with which the server opens a run: before those of the request.
_OPENING_PLACE: Final = 0


@dataclass(kw_only=True, slots=True)
class Split:
    """The events of a request as segments, one for each run; `event_count` counts them."""

    segments: list[NewSegment] = field(default_factory=list)
    event_count: int = 0
    rejected: list[RejectedEvent] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class _RunEvents:
    """The events of one run in a request, each with its number and its place there."""

    lines: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    has_ended: bool = False

    def add(self, event: Event, line: bytes, place: int) -> None:
        self.lines.append(line)
        self.numbers.append(event.number)
        self.places.append(place)
        self.has_ended |= event.type in RUN_ENDS

    def segment(self, run_id: str) -> NewSegment:
        return NewSegment(
            external_id=run_id,
            format=FORMAT,
            data=b"\n".join(self.lines) + b"\n",
            has_ended=self.has_ended,
            numbers=self.numbers,
            places=self.places,
        )


def split(data: bytes, *, run_id: str | None = None) -> Split:
    """Make a segment of each run's events; if `run_id` is given, reject the events of other runs.

    Raises `NotJson` for a body without any JSON.
    """
    return split_records(event_bodies.read_records(data), run_id=run_id)


def split_records(records: Iterable[EventRecord], *, run_id: str | None = None) -> Split:
    """Make a segment of each run's events, and name those that cannot be stored."""
    result = Split()
    runs: dict[str, _RunEvents] = {}
    for record in records:
        try:
            event, line = _check(record, run_id)
            runs.setdefault(event.run_id, _RunEvents()).add(event, line, record.place)
        except BadFile as problem:
            result.rejected.append(RejectedEvent(line=record.place, reason=str(problem)))
        else:
            result.event_count += 1
    result.segments = [events.segment(key) for key, events in runs.items()]
    return result


def store(
    split: Split, *, project: str, opening: NewSegment | None = None, refuses_conflicts: bool = False
) -> EventReceipt:
    """Store the events of a request, and the one that starts its run; those that contradict stored ones are rejected.

    Raises `NumberConflict`, and stores nothing, if the run was started differently, or if there are only contradicting
    events and `refuses_conflicts`.
    """
    with transaction.atomic():
        segments = [*([] if opening is None else [opening]), *split.segments]
        conflicts = arrivals.accept(segments, project=project, checks_numbers=True)
        for conflict in conflicts:
            if conflict.place == _OPENING_PLACE:
                raise NumberConflict("a different run was started with this id")
        if refuses_conflicts and conflicts and len(conflicts) == split.event_count and not split.rejected:
            raise NumberConflict("; ".join(conflict.reason for conflict in conflicts))
    rejected = [RejectedEvent(line=conflict.place, reason=conflict.reason) for conflict in conflicts]
    return EventReceipt(
        accepted=split.event_count - len(conflicts),
        rejected=sorted([*split.rejected, *rejected], key=lambda event: event.line),
    )


def _check(record: EventRecord, run_id: str | None) -> tuple[Event, bytes]:
    """Return a valid event and its line. An event of one run may leave out the run's id."""
    if isinstance(record.value, BadFile):
        raise record.value
    value, line = record.value, record.line
    if run_id is not None and value.get("run_id") is None:
        value = {**value, "run_id": run_id}
        line = orjson.dumps(value)
    event = check(value)
    if run_id is not None and event.run_id != run_id:
        raise BadFile(f"the event belongs to run “{event.run_id[:60]}”", "/run_id")
    return event, line


def opening(run: NewRun, run_id: str) -> NewSegment:
    """Return the segment that starts a run, before all events of its client. Raises `BadFile`."""
    facts: JSONObject = {
        "app_id": run.app,
        "name": run.name,
        "entrypoint_name": run.entrypoint_name,
        "environment": run.environment,
        "tags": [*run.tags],
        "metadata": run.metadata,
        "input": run.input,
    }
    event: JSONObject = {
        "run_id": run_id,
        "sequence_no": OPENING,
        "event_type": "run_started",
        "timestamp_utc": run.started_at.isoformat() if run.started_at else None,
        "actor_type": "backend",
        "payload": {name: value for name, value in facts.items() if value not in (None, "", [], {})},
    }
    read_event(event, "")
    data = orjson.dumps(event) + b"\n"
    return NewSegment(external_id=run_id, format=FORMAT, data=data, numbers=[OPENING], places=[_OPENING_PLACE])


def split_krabs(data: bytes) -> Split:
    """Make a segment of each Krabs event of a list, and name those that cannot be stored.

    Raises `NotJson`, and `BadFile` for an event that comes alone.
    """
    body = read_json(data)
    if not isinstance(body.value, list):
        return Split(segments=[_krabs_segment(body.value, body)], event_count=1)
    split = Split()
    for place, record in enumerate(body.value, 1):
        try:
            split.segments.append(_krabs_segment(record, body))
        except BadFile as problem:
            split.rejected.append(RejectedEvent(line=place, reason=str(problem)))
    split.event_count = len(split.segments)
    return split


def _krabs_segment(value: JSONValue, body: JsonBody) -> NewSegment:
    body.check(value)
    record = require_object(value, "")
    event = krabs.check(record)
    line = orjson.dumps(record, option=orjson.OPT_SORT_KEYS) + b"\n"
    return NewSegment(external_id=event.run_id, format=krabs.FORMAT, data=line, has_ended=event.ends_agent)
