"""Krabs' session database. Older ones lack columns and tables that newer ones have.

The bytes are opened in memory, read-only, and with a bound on the work that a query may cause: a database is a
program of sorts, and this one comes from elsewhere.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from traces.importers import transcripts
from traces.importers.building import RunFacts, finish
from traces.importers.calls import provider_of
from traces.importers.problems import BadFile
from traces.importers.reading import embedded, text
from traces.importers.source import Source
from traces.importers.transcripts import Said, Setting
from traces.json_types import JSONObject, JSONValue
from traces.recording import RecordedRun

FORMAT = "krabs"
MAGIC: Final = b"SQLite format 3\0"
_JOURNAL_BYTES: Final = slice(18, 20)  # of the header: 2 says write-ahead log, which memory has not
_MOST_WORK: Final = 20_000  # thousands of virtual machine steps for one query
_Row = dict[str, JSONValue]


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each session of the database."""
    connection = _opened(source.data)
    try:
        yield from [_run(connection, session) for session in _rows(connection, "sessions", "created_at, id")]
    except sqlite3.Error as error:
        raise BadFile(f"the database cannot be read: {error}", "byte 0") from error
    finally:
        connection.close()


def _opened(data: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    work = [0]

    def count() -> int:
        work[0] += 1
        return int(work[0] > _MOST_WORK)

    try:
        connection.deserialize(bytes(data[:18]) + b"\x01\x01" + bytes(data[_JOURNAL_BYTES.stop :]))
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA query_only=ON")
        connection.set_progress_handler(count, 1000)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except (sqlite3.Error, UnicodeDecodeError) as error:
        connection.close()
        raise BadFile(f"a damaged SQLite database: {error}", "byte 0") from error
    if not {"sessions", "messages"} <= tables:
        connection.close()
        raise BadFile("an SQLite database, but not one of Krabs: it has no `sessions` and `messages`", "table sessions")
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _run(connection: sqlite3.Connection, session: _Row) -> RecordedRun:
    session_id, model = text(session.get("id")), text(session.get("model"))
    where = f"session {session_id}"
    messages = _rows(connection, "messages", "id", session_id)
    if not messages:
        raise BadFile("a session without messages", where)
    usage = _by_turn(_rows(connection, "token_usage", "id", session_id))
    errors = _rows(connection, "errors", "id", session_id)
    said = [
        Said(value=_message(each, usage, errors, where), where=f"{where}, message {text(each.get('id'))}")
        for each in messages
    ]
    setting = Setting(model=model, provider=provider_of(session.get("provider"), model), agent="krabs")
    checkpoints = _rows(connection, "checkpoints", "id", session_id)
    return finish(
        RunFacts(
            external_id=session_id,
            app=FORMAT,
            format=FORMAT,
            tags=["krabs"],
            metadata={
                "agent_id": session.get("agent_id"),
                "session": embedded(session.get("metadata")),
                "checkpoints": [dict(each) for each in checkpoints],
                "errors": [dict(each) for each in errors],
            },
        ),
        transcripts.steps_of(said, setting),
        where=where,
    )


def _message(row: _Row, usage: dict[JSONValue, list[_Row]], errors: list[_Row], where: str) -> JSONObject:
    """A row as a message; the turn numbers restart with each request, so usage is taken in its order."""
    role = text(row.get("role"))
    message: JSONObject = {"role": role, "content": row.get("content"), "ts": row.get("created_at")}
    if role == "assistant":
        calls = embedded(row.get("tool_args"))
        message["tool_calls"] = calls if isinstance(calls, list) else []
        if spent := usage[row.get("turn")]:
            counted = spent.pop(0)
            message["usage"] = {
                "input_tokens": counted.get("input_tokens"),
                "output_tokens": counted.get("output_tokens"),
            }
    elif role == "tool":
        failed = [
            each
            for each in errors
            if each.get("context") == row.get("tool_name") and each.get("turn") == row.get("turn")
        ]
        message |= {"tool_call_id": row.get("tool_call_id"), "name": row.get("tool_name")}
        if failed:
            given_up = any(each.get("message") == row.get("content") for each in failed)
            message |= {"error": row.get("content") if given_up else None, "retries": len(failed) - int(given_up)}
    return message


def _by_turn(rows: list[_Row]) -> dict[JSONValue, list[_Row]]:
    found: dict[JSONValue, list[_Row]] = defaultdict(list)
    for row in rows:
        found[row.get("turn")].append(row)
    return found


def _rows(connection: sqlite3.Connection, table: str, order: str, session_id: str | None = None) -> list[_Row]:
    """All rows as objects; none of a table that this version of Krabs had not yet."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if known is None:
        return []
    where, values = ("WHERE session_id = ?", (session_id,)) if session_id is not None else ("", ())
    cursor = connection.execute(f"SELECT * FROM {table} {where} ORDER BY {order}", values)  # noqa: S608  # our own names
    names = [column[0] for column in cursor.description]
    return [{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in cursor]


def _plain(value: Any) -> JSONValue:
    """A column's value as JSON: there is no other way to have bytes in it than as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    known: JSONValue = value  # SQLite has None, int, float and str besides
    return known
