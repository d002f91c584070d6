"""Events of Langfuse clients: each one is checked, and those of a trace become one segment."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import orjson

from traces.collectors.json_bodies import JsonBody
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import ProblemError
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_object
from traces.importers.formats.tracing import langfuse, langfuse_media
from traces.recordings.arrivals import NewSegment

# Logs of the SDK about itself: accepted, as Langfuse does, and not stored.
_SDK_LOG: Final = "sdk-log"
_LONGEST_ID: Final = 200


class BadRequest(ProblemError):
    """A body that is not what the endpoint expects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventError:
    """An event that cannot be stored."""

    id: str
    reason: str


@dataclass(kw_only=True, slots=True)
class Split:
    """The events of a request as segments; `scores` maps the ids of scores to their traces."""

    segments: list[NewSegment] = field(default_factory=list)
    event_ids: list[str] = field(default_factory=list)
    errors: list[EventError] = field(default_factory=list)
    scores: dict[str, str] = field(default_factory=dict)


def split_batch(body: JsonBody) -> Split:
    """Split the body of an ingestion request. Raises `BadRequest` if it has no batch."""
    batch = as_object(body.value).get("batch")
    if not isinstance(batch, list):
        raise BadRequest("expected an object with a list `batch`")
    return split_events(batch, body)


def score_events(value: JSONValue) -> list[JSONValue]:
    """Return the events that create these scores; a score without an id gets one from its content."""
    return [_score_event(score) for score in (value if isinstance(value, list) else [value])]


def deletion(score_id: str, trace_id: str) -> NewSegment:
    """Return the segment that deletes a score."""
    event: JSONObject = {"id": score_id, "type": "score-delete", "body": {"id": score_id, "traceId": trace_id}}
    return _segment(trace_id, [event])


def media_segment(body: JSONObject) -> NewSegment:
    """Return the segment of an uploaded file."""
    event: JSONObject = {"id": body["id"], "type": langfuse_media.EVENT, "body": body}
    return _segment(as_text(body["traceId"]), [event])


def split_events(events: Iterable[JSONValue], body: JsonBody) -> Split:
    """Group events by trace; name those that cannot be stored."""
    split = Split()
    traces: dict[str, list[JSONObject]] = {}
    for item in events:
        event_id = as_text(as_object(item).get("id"))
        try:
            event = require_object(item, "")
            if event.get("type") != _SDK_LOG:
                traces.setdefault(_trace_of(event, body), []).append(event)
                _note_score(event, split)
        except BadFile as problem:
            split.errors.append(EventError(id=event_id, reason=str(problem)))
        else:
            split.event_ids.append(event_id)
    split.segments = [_segment(trace_id, records) for trace_id, records in traces.items()]
    return split


def _trace_of(event: JSONObject, body: JsonBody) -> str:
    body.check(event)
    trace_id = langfuse.trace_of(event)
    if len(trace_id) > _LONGEST_ID or "\0" in trace_id:
        raise BadFile(f"the id of a trace has at most {_LONGEST_ID} characters, none of them NUL", "/body")
    return trace_id


def _note_score(event: JSONObject, split: Split) -> None:
    record = as_object(event.get("body"))
    if event.get("type") == "score-create" and (id := as_text(record.get("id"))):
        split.scores[id] = as_text(record.get("traceId"))


def _score_event(score: JSONValue) -> JSONObject:
    if not isinstance(score, dict):
        return {"id": "", "type": "score-create", "body": score}
    id = as_text(score.get("id")) or str(
        uuid5(NAMESPACE_URL, orjson.dumps(score, option=orjson.OPT_SORT_KEYS).decode())
    )
    return {"id": id, "type": "score-create", "body": {**score, "id": id}}


def _segment(trace_id: str, events: Iterable[JSONObject]) -> NewSegment:
    # One event per line: one that cannot be read later does not affect the others.
    lines = [orjson.dumps({"batch": [event]}) for event in events]
    return NewSegment(external_id=trace_id, format=langfuse.FORMAT, data=b"\n".join(lines) + b"\n")
