"""Canonical events of the SDK: check each one, and store those of a run as a segment."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from traces.collectors import event_bodies
from traces.collectors.event_bodies import EventRecord
from traces.collectors.schemas import NewRun
from traces.core.json_types import JSONObject
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, require_object
from traces.importers.formats.frameworks import krabs
from traces.importers.formats.tracing.event_lines import FORMAT, OPENING, RUN_ENDS, Event, check, read_event
from traces.recordings.arrivals import NewSegment
from traces.schemas import RejectedEvent


@dataclass(kw_only=True, slots=True)
class Split:
    """The events of a request as segments, one for each run; `event_count` counts them."""

    segments: list[NewSegment] = field(default_factory=list)
    event_count: int = 0
    rejected: list[RejectedEvent] = field(default_factory=list)


def split(data: bytes, *, run_id: str | None = None) -> Split:
    """Make a segment of each run's events; if `run_id` is given, reject the events of other runs.

    Raises `NotJson` for a body without any JSON.
    """
    return split_records(event_bodies.read_records(data), run_id=run_id)


def split_records(records: Iterable[EventRecord], *, run_id: str | None = None) -> Split:
    """Make a segment of each run's events, and name those that cannot be stored."""
    result = Split()
    lines_by_run: dict[str, list[bytes]] = {}
    ended_runs: set[str] = set()
    for record in records:
        try:
            event, line = _check(record, run_id)
        except BadFile as problem:
            result.rejected.append(RejectedEvent(line=record.place, reason=str(problem)))
            continue
        result.event_count += 1
        lines_by_run.setdefault(event.run_id, []).append(line)
        if event.type in RUN_ENDS:
            ended_runs.add(event.run_id)
    result.segments = [
        NewSegment(external_id=key, format=FORMAT, data=b"\n".join(lines) + b"\n", has_ended=key in ended_runs)
        for key, lines in lines_by_run.items()
    ]
    return result


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
    return NewSegment(external_id=run_id, format=FORMAT, data=orjson.dumps(event) + b"\n")


def split_krabs(data: bytes) -> list[NewSegment]:
    """Make a segment of each Krabs event: one, or a list of them. Raises `BadFile`."""
    document = json_value(data)
    records = document if isinstance(document, list) else [document]
    return [_krabs_segment(require_object(record, f"/{index}")) for index, record in enumerate(records)]


def _krabs_segment(record: JSONObject) -> NewSegment:
    event = krabs.check(record)
    line = orjson.dumps(record, option=orjson.OPT_SORT_KEYS) + b"\n"
    return NewSegment(external_id=event.run_id, format=krabs.FORMAT, data=line, has_ended=event.ends_agent)
