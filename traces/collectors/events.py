"""Canonical events of the SDK: check each one, and store those of a run as a segment."""

import orjson

from traces.core.json_types import JSONObject
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, require_object
from traces.importers.formats.frameworks import krabs
from traces.importers.formats.tracing.forkpoint_events import FORMAT, CheckedEvent, check
from traces.recordings.arrivals import NewSegment
from traces.schemas import RejectedEvent


def split(data: bytes, *, run_id: str | None = None) -> tuple[list[NewSegment], list[RejectedEvent]]:
    """Make a segment of each run's events, one per line; if `run_id` is given, reject the events of other runs."""
    lines_by_run: dict[str, list[bytes]] = {}
    ended_runs: set[str] = set()
    rejected: list[RejectedEvent] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            event = _check(line, run_id)
        except BadFile as problem:
            rejected.append(RejectedEvent(line=number, reason=str(problem)))
            continue
        lines_by_run.setdefault(event.run_id, []).append(line.strip())
        if event.ends_run:
            ended_runs.add(event.run_id)
    segments = [
        NewSegment(external_id=key, format=FORMAT, data=b"\n".join(lines) + b"\n", has_ended=key in ended_runs)
        for key, lines in lines_by_run.items()
    ]
    return segments, rejected


def _check(line: bytes, run_id: str | None) -> CheckedEvent:
    event = check(require_object(json_value(line), ""))
    if run_id is not None and event.run_id != run_id:
        raise BadFile(f"the event belongs to run “{event.run_id[:60]}”", "/run_id")
    return event


def split_krabs(data: bytes) -> list[NewSegment]:
    """Make a segment of each Krabs event: one, or a list of them. Raises `BadFile`."""
    document = json_value(data)
    records = document if isinstance(document, list) else [document]
    return [_krabs_segment(require_object(record, f"/{index}")) for index, record in enumerate(records)]


def _krabs_segment(record: JSONObject) -> NewSegment:
    event = krabs.check(record)
    line = orjson.dumps(record, option=orjson.OPT_SORT_KEYS) + b"\n"
    return NewSegment(external_id=event.run_id, format=krabs.FORMAT, data=line, has_ended=event.ends_agent)
