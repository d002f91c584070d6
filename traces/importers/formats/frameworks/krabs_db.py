"""The session database of Krabs. Older versions lack some columns and tables."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from traces.core.json_access import as_list, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, ImpossibleContent, Row

FORMAT = "krabs"
_SESSION_TABLES: Final = ("messages", "token_usage", "errors", "checkpoints")
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "sessions": ("id", "agent_id", "model", "provider", "created_at", "metadata"),
    "messages": ("id", "turn", "role", "content", "tool_call_id", "tool_name", "tool_args", "created_at"),
    "token_usage": ("id", "turn", "input_tokens", "output_tokens"),
    "errors": ("id", "session_id", "agent_id", "turn", "context", "message", "attempt", "created_at"),
    "checkpoints": (
        "id",
        "session_id",
        "agent_id",
        "turn",
        "last_msg_id",
        "subturn_tool_idx",
        "subturn_call_id",
        "created_at",
    ),
}


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session of the database; skip and report unreadable sessions."""
    database = Database(source.data, _COLUMNS)
    try:
        if "sessions" not in database or not sqlite_file.has_column(source.data, "messages", "content"):
            names = ", ".join(database.table_names()[:8]) or "(none)"
            problem = f"no known format has an SQLite database with the tables {names}"
            raise BadFile(problem, "table sessions")
        tables = {name: _Table(database, name) for name in _SESSION_TABLES}
        for session in list(database.rows("sessions", "ORDER BY created_at, id")):
            try:
                yield _run(tables, session, source.problems)
            except ImpossibleContent:
                raise
            except BadFile as problem:
                source.problems.append(problem)
    finally:
        database.close()


class _Table:
    """The rows of each session in a table; their row ids are read once, as Krabs has no index for them."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._row_ids: dict[Any, list[int]] = defaultdict(list)
        if name in database:
            for row_id, session in database.select(f"rowid, session_id FROM {name} ORDER BY id"):
                self._row_ids[session].append(row_id)

    def rows_of(self, session: Any) -> list[Row]:
        """Return the rows of a session, ordered by id; none if an older Krabs version lacks the table."""
        row_ids = self._row_ids.get(session, ())
        return [row for row_id in row_ids for row in self._database.rows(self._name, "WHERE rowid = ?", (row_id,))]


def _run(tables: dict[str, _Table], session: Row, problems: list[BadFile]) -> RecordedRun:
    session_id, model = as_text(session.get("id")), as_text(session.get("model"))
    location = f"session {session_id}"
    messages, token_usage, errors, checkpoints = (tables[name].rows_of(session.get("id")) for name in _SESSION_TABLES)
    if not messages:
        raise BadFile("a session without messages", location)
    usage = _group_by_turn(token_usage)
    recorded_messages = [
        TranscriptMessage(
            value=_message(row, usage, errors, location), location=f"{location}, message {as_text(row.get('id'))}"
        )
        for row in messages
    ]
    setting = TranscriptSettings(
        model=model, provider=normalize_provider(session.get("provider"), model), agent="krabs"
    )
    return build_run(
        RunFacts(
            external_id=session_id,
            app=FORMAT,
            format=FORMAT,
            tags=["krabs"],
            metadata={
                "agent_id": session.get("agent_id"),
                "session": parse_embedded(session.get("metadata")),
                "checkpoints": [dict(row) for row in checkpoints],
                "errors": [dict(row) for row in errors],
            },
        ),
        transcripts.build_steps(drop_unreadable(recorded_messages, problems), setting),
        location=location,
    )


def _message(row: Row, usage: dict[JSONValue, list[Row]], errors: list[Row], location: str) -> JSONObject:
    """Convert a row to a message; turn numbers restart per request, so take the usage rows in order."""
    role = as_text(row.get("role"))
    message: JSONObject = {"role": role, "content": row.get("content"), "ts": row.get("created_at")}
    if role == "assistant":
        calls = parse_embedded(row.get("tool_args"))
        message["tool_calls"] = as_list(calls)
        if turn_usage := usage[row.get("turn")]:
            usage_row = turn_usage.pop(0)
            message["usage"] = {
                "input_tokens": usage_row.get("input_tokens"),
                "output_tokens": usage_row.get("output_tokens"),
            }
    elif role == "tool":
        failures = [
            error
            for error in errors
            if error.get("context") == row.get("tool_name") and error.get("turn") == row.get("turn")
        ]
        message |= {"tool_call_id": row.get("tool_call_id"), "name": row.get("tool_name")}
        if failures:
            is_final = any(error.get("message") == row.get("content") for error in failures)
            message |= {"error": row.get("content") if is_final else None, "retries": len(failures) - int(is_final)}
    return message


def _group_by_turn(rows: list[Row]) -> dict[JSONValue, list[Row]]:
    rows_by_turn: dict[JSONValue, list[Row]] = defaultdict(list)
    for row in rows:
        rows_by_turn[row.get("turn")].append(row)
    return rows_by_turn
