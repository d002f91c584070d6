"""The database of opencode (`opencode.db`): its sessions in the form of exports."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Record, Source
from traces.importers.files.sqlite_file import Database, Row, has_column

_NAMES: Final = {
    "project_id": "projectID",
    "parent_id": "parentID",
    "directory": "directory",
    "title": "title",
    "version": "version",
    "share_url": "share",
    "agent": "agent",
    "model": "model",
    "cost": "cost",
    "summary_additions": "additions",
    "summary_deletions": "deletions",
    "summary_files": "files",
    "revert": "revert",
    "metadata": "metadata",
}
_TIMES: Final = ("time_created", "time_updated", "time_compacting", "time_archived")
_TOKENS: Final = ("tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write")
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "session": ("id", *_NAMES, *_TIMES, *_TOKENS),
    "message": ("id", "session_id", "data"),
    "part": ("id", "message_id", "data"),
}


def is_database(data: bytes) -> bool:
    """Return True if `data` is such a database."""
    return has_column(data, "part", "data") and has_column(data, "message", "data")


def read(source: Source) -> Iterator[Record]:
    """Yield each session with its messages and their parts."""
    database = Database(source.data, _COLUMNS)
    try:
        if not all(table in database for table in _COLUMNS):
            raise BadFile("a database of opencode needs `session`, `message` and `part`", "table session")
        parts: dict[str, list[JSONValue]] = defaultdict(list)
        for row in database.rows("part", "ORDER BY id"):
            parts[as_text(row.get("message_id"))].append({**_data(row), "id": row.get("id")})
        messages: dict[str, list[JSONValue]] = defaultdict(list)
        for row in database.rows("message", "ORDER BY id"):
            info: JSONObject = {**_data(row), "id": row.get("id"), "sessionID": row.get("session_id")}
            body: JSONObject = {"info": info, "parts": parts[as_text(row.get("id"))]}
            messages[as_text(row.get("session_id"))].append(body)
        sessions = [*database.rows("session", "ORDER BY id")]
    finally:
        database.close()
    for row in sessions:
        id = as_text(row.get("id"))
        if messages[id]:
            yield Record(value={"info": _info(row), "messages": messages[id]}, location=f"session {id}")
        else:
            source.problems.append(BadFile("a session without messages", f"session {id}"))


def _data(row: Row) -> JSONObject:
    return as_object(parse_embedded(row.get("data")))


def _info(row: Row) -> JSONObject:
    facts: JSONObject = {name: row[column] for column, name in _NAMES.items() if row.get(column) is not None}
    time: JSONObject = {name.removeprefix("time_"): row[name] for name in _TIMES if row.get(name)}
    tokens: JSONObject = {name.removeprefix("tokens_"): row[name] for name in _TOKENS if row.get(name)}
    return {"id": row.get("id"), **facts, "time": time, **({"tokens": tokens} if tokens else {})}
