"""Sessions of Google's Agent Development Kit in SQLite (`adk web`, `DatabaseSessionService`, `SqliteSessionService`).

Newer versions store an event as JSON (`event_data`), earlier ones its members in columns. Their `actions` are a pickled
object, which is not read.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Record
from traces.importers.files.sqlite_file import Database, Row
from traces.importers.formats.databases.stores import Store

_SESSION: Final = ("app_name", "user_id", "id")
_EVENT: Final = ("app_name", "user_id", "session_id")
_EVENT_DATA: Final = "event_data"
_LONG_RUNNING: Final = "long_running_tool_ids_json"
_OBJECTS: Final = (
    *("content", "grounding_metadata", "custom_metadata", "usage_metadata", "citation_metadata"),
    *("input_transcription", "output_transcription", _LONG_RUNNING),
)
_FLAGS: Final = ("partial", "turn_complete", "interrupted")
_TEXTS: Final = ("author", "branch", "error_code", "error_message")
# Whose states a session sees under these prefixes.
_STATES: Final = {"app_states": ("app:", _SESSION[:1]), "user_states": ("user:", _SESSION[:2])}

_Key = tuple[JSONValue, ...]


def _read(database: Database) -> Iterator[Record]:
    events: dict[_Key, list[JSONValue]] = defaultdict(list)
    for row in database.rows("events", "ORDER BY timestamp, rowid"):
        events[_key(row, _EVENT)].append(_event(row))
    states = {
        table: {_key(row, names): as_object(parse_embedded(row.get("state"))) for row in database.rows(table)}
        for table, (_, names) in _STATES.items()
        if table in database
    }
    sessions = [*database.rows("sessions", "ORDER BY create_time, id")] if "sessions" in database else []
    rows = {_key(row, _SESSION): row for row in sessions}
    for key in dict.fromkeys((*rows, *events)):
        row, session_events = rows.get(key, {}), events[key]
        if not session_events:
            continue
        state: JSONObject = {**as_object(parse_embedded(row.get("state")))}
        for table, (prefix, names) in _STATES.items():
            shared_state = states.get(table, {}).get(key[: len(names)], {})
            state |= {prefix + name: item for name, item in shared_state.items()}
        session: JSONObject = {"id": key[2], "app_name": key[0], "user_id": key[1], "state": state}
        yield Record(value={**session, "events": session_events}, location=f"session {as_text(key[2])}")


def _key(row: Row, names: tuple[str, ...]) -> _Key:
    return tuple(row.get(name) for name in names)


def _event(row: Row) -> JSONObject:
    facts: JSONObject = {"id": row.get("id"), "invocation_id": row.get("invocation_id")}
    if event := as_object(parse_embedded(row.get(_EVENT_DATA))):
        return {"author": "", "timestamp": row.get("timestamp"), **event, **facts}
    objects: JSONObject = {name: parse_embedded(row[name]) for name in _OBJECTS if row.get(name) not in (None, "null")}
    texts: JSONObject = {name: row[name] for name in _TEXTS if row.get(name) is not None}
    flags: JSONObject = {name: bool(row[name]) for name in _FLAGS if row.get(name) is not None}
    if _LONG_RUNNING in objects:
        objects["long_running_tool_ids"] = objects.pop(_LONG_RUNNING)
    return {"author": "", "timestamp": row.get("timestamp"), **facts, **texts, **objects, **flags}


STORE: Final = Store(
    title="the Agent Development Kit",
    mark="invocation_id",
    columns={
        "events": ("id", *_EVENT, "invocation_id", "timestamp", _EVENT_DATA, *_TEXTS, *_OBJECTS, *_FLAGS),
        "sessions": (*_SESSION, "state", "create_time"),
        "app_states": ("app_name", "state"),
        "user_states": ("app_name", "user_id", "state"),
    },
    read=_read,
)
