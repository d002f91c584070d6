"""Bodies of events: one JSON object per line, one object, a list of objects, or an object with a list `events`."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from traces.collectors.json_bodies import JsonBody, NotJson, read_json
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, require_object


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRecord:
    """One record of a body: its place, from 1, and its JSON, or why it cannot be read."""

    place: int
    line: bytes
    value: JSONObject | BadFile


def read_records(data: bytes) -> Iterator[EventRecord]:
    """Yield the records of a body. Raises `NotJson` if it contains no JSON at all."""
    document = None if _starts_with_event(data) else _document(data)
    if document is not None:
        yield from _items(document)
        return
    records = list(_lines(data))
    if records and not any(map(_is_object, records)):
        raise NotJson(f"the body contains no event: send JSON, such as one event per line; {records[0].value}")
    yield from records


def _is_object(record: EventRecord) -> bool:
    """Return whether a record is an object, maybe one that cannot be stored."""
    if not isinstance(record.value, BadFile):
        return True
    try:
        return isinstance(json.loads(record.line), dict)
    except (ValueError, RecursionError):
        return False


def _starts_with_event(data: bytes) -> bool:
    """Return whether the first line is an event by itself."""
    try:
        first_value = orjson.loads(data.lstrip().partition(b"\n")[0])
    except orjson.JSONDecodeError:
        return False
    return isinstance(first_value, dict) and "events" not in first_value


def _document(data: bytes) -> JsonBody | None:
    """Return the JSON of a body that is one document; None for lines."""
    if not data.strip():
        return None
    try:
        body = read_json(data)
    except NotJson:
        return None
    return body if isinstance(body.value, dict | list) else None


def _items(body: JsonBody) -> Iterator[EventRecord]:
    events = as_object(body.value).get("events")
    batch = body.value if isinstance(body.value, list) else events if isinstance(events, list) else [body.value]
    for place, item in enumerate(batch, 1):
        yield _item(place, item, body)


def list_records(values: Iterable[JSONObject]) -> Iterator[EventRecord]:
    """Yield the records of a list that has been read."""
    return (EventRecord(place=place, line=orjson.dumps(value), value=value) for place, value in enumerate(values, 1))


def _item(place: int, item: JSONValue, body: JsonBody) -> EventRecord:
    try:
        body.check(item)
        value = require_object(item, "")
    except BadFile as problem:
        return EventRecord(place=place, line=b"", value=problem)
    return EventRecord(place=place, line=orjson.dumps(value), value=value)


def _lines(data: bytes) -> Iterator[EventRecord]:
    for place, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value: JSONObject | BadFile = require_object(json_value(line), "")
        except BadFile as problem:
            value = problem
        yield EventRecord(place=place, line=line.strip(), value=value)
