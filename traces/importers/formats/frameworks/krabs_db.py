"""Krabs' session database. Older ones lack columns and tables that newer ones have."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, text
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, Overstated, Row

FORMAT = "krabs"
_OF_SESSIONS: Final = ("messages", "token_usage", "errors", "checkpoints")
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
    """One run for each session of the database; one that cannot be read is noted and left out."""
    database = Database(source.data, _COLUMNS)
    try:
        if "sessions" not in database or "messages" not in database:
            problem = "an SQLite database, but not one of Krabs: it has no `sessions` and `messages`"
            raise BadFile(problem, "table sessions")
        tables = {name: _Table(database, name) for name in _OF_SESSIONS}
        for session in list(database.rows("sessions", "ORDER BY created_at, id")):
            try:
                yield _run(tables, session, source.problems)
            except Overstated:
                raise
            except BadFile as problem:
                source.problems.append(problem)
    finally:
        database.close()


class _Table:
    """The rows of each session in a table. Krabs has no index for that, so their places are looked up once for all."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._places: dict[Any, list[int]] = defaultdict(list)
        if name in database:
            for place, session in database.select(f"rowid, session_id FROM {name} ORDER BY id"):
                self._places[session].append(place)

    def of(self, session: Any) -> list[Row]:
        """In the order of their ids; none in a database of a version of Krabs that had not this table yet."""
        places = self._places.get(session, ())
        return [row for place in places for row in self._database.rows(self._name, "WHERE rowid = ?", (place,))]


def _run(tables: dict[str, _Table], session: Row, skipped: list[BadFile]) -> RecordedRun:
    session_id, model = text(session.get("id")), text(session.get("model"))
    where = f"session {session_id}"
    messages, spent, errors, checkpoints = (tables[name].of(session.get("id")) for name in _OF_SESSIONS)
    if not messages:
        raise BadFile("a session without messages", where)
    usage = _by_turn(spent)
    said = [
        TranscriptMessage(
            value=_message(each, usage, errors, where), location=f"{where}, message {text(each.get('id'))}"
        )
        for each in messages
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
                "checkpoints": [dict(each) for each in checkpoints],
                "errors": [dict(each) for each in errors],
            },
        ),
        transcripts.build_steps(drop_unreadable(said, skipped), setting),
        location=where,
    )


def _message(row: Row, usage: dict[JSONValue, list[Row]], errors: list[Row], where: str) -> JSONObject:
    """A row as a message; the turn numbers restart with each request, so usage is taken in its order."""
    role = text(row.get("role"))
    message: JSONObject = {"role": role, "content": row.get("content"), "ts": row.get("created_at")}
    if role == "assistant":
        calls = parse_embedded(row.get("tool_args"))
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


def _by_turn(rows: list[Row]) -> dict[JSONValue, list[Row]]:
    found: dict[JSONValue, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.get("turn")].append(row)
    return found
