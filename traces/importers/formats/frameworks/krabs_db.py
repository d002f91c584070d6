"""The session database of Krabs. Older versions lack some columns and tables."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from traces.core.json_access import as_list, as_number, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
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
# Databases of programs that have an export, by one of their tables.
_EXPORTS: Final = {
    "compression_locks": "this is the database of Hermes Agent: import what `hermes sessions export` writes of it",
    "workspace_chats": "this is the database of AnythingLLM: import the chats that it exports as JSON",
}
_IN_LOG: Final = (
    "this SQLite database is empty, because its tables are in its write-ahead log: end its program, or run "
    "`PRAGMA wal_checkpoint(TRUNCATE)`, and import it then"
)
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "sessions": ("id", "agent_id", "model", "provider", "created_at", "metadata"),
    "messages": ("id", "turn", "role", "content", "tool_call_id", "tool_name", "tool_args", "created_at"),
    "token_usage": ("id", "turn", "input_tokens", "output_tokens", "created_at"),
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
# Contexts of errors that are no names of tools.
_MODEL_CALLS: Final = ("llm_stream", "llm_complete")
_TURN_LIMIT: Final = ("max_turns",)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Interval:
    """The seconds between two messages; None: no limit. The rows about a call are written before its message."""

    start: float | None
    end: float | None = None

    def is_before(self, row: Row) -> bool:
        time = _time(row)
        return time is not None and self.end is not None and self.end < time

    def is_after(self, row: Row) -> bool:
        time = _time(row)
        return time is not None and self.start is not None and time < self.start


@dataclass(kw_only=True)
class _Calls:
    """Rows about calls that belong to no message so far: tokens by turn, failed attempts by context, in order.

    Turns restart with every request, and these rows outlast a rollback of their messages: only times tell them apart.
    """

    usage: dict[JSONValue, deque[Row]]
    failures: dict[JSONValue, deque[list[Row]]]

    def take_usage(self, turn: JSONValue, interval: _Interval) -> Row:
        """Remove and return the tokens of a model call; empty if they are not recorded."""
        rows, usage = self.usage[turn], dict[str, JSONValue]()
        while rows and not usage and not interval.is_before(rows[0]):
            row = rows.popleft()
            usage = {} if interval.is_after(row) else row
        return usage

    def take_failures(self, contexts: Iterable[JSONValue], interval: _Interval) -> list[Row]:
        """Remove and return the failed attempts of a call."""
        failures: list[Row] = []
        for calls in (self.failures[context] for context in contexts):
            while calls and not interval.is_before(calls[0][0]):
                attempts = calls.popleft()
                failures += [] if interval.is_after(attempts[0]) else attempts
        return failures


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session of the database; skip and report unreadable sessions."""
    database = Database(source.data, _COLUMNS)
    try:
        if not _is_krabs(database, source.data):
            raise _unknown_database(database.table_names(), source.data)
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


def _is_krabs(database: Database, data: bytes) -> bool:
    """Return whether a database has the tables of Krabs; other programs have tables of the same names."""
    is_own = "sessions" in database and {"id", "created_at"} <= {*database.columns("sessions")}
    return is_own and sqlite_file.has_column(data, "messages", "content")


def _unknown_database(tables: list[str], data: bytes) -> BadFile:
    if advice := next((advice for table, advice in _EXPORTS.items() if table in tables), ""):
        return BadFile(advice, "table sessions")
    if not tables and sqlite_file.has_write_ahead_log(data):
        return BadFile(_IN_LOG, "table sessions")
    names = ", ".join(tables[:8]) or "(none)"
    return BadFile(f"no known format has an SQLite database with the tables {names}", "table sessions")


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
    calls = _Calls(usage=_group_by_turn(token_usage), failures=_group_attempts(errors))
    recorded_messages = list(_read_messages(messages, calls, location))
    setting = TranscriptSettings(
        model=model, provider=normalize_provider(session.get("provider"), model), agent="krabs"
    )
    steps = transcripts.build_steps(drop_unreadable(recorded_messages, problems), setting)
    limit = calls.take_failures(_TURN_LIMIT, _Interval(start=_time(messages[-1])))
    last = recorded_messages[-1].value
    return build_run(
        RunFacts(
            external_id=session_id,
            app=FORMAT,
            format=FORMAT,
            tags=["krabs"],
            failed=isinstance(last, dict) and last.get("role") == "assistant" and bool(last.get("error")),
            has_ended=_is_answer(messages[-1]),
            metadata={
                "agent_id": session.get("agent_id"),
                "session": parse_embedded(session.get("metadata")),
                "checkpoints": [dict(row) for row in checkpoints],
                "errors": [dict(row) for row in errors],
            },
        ),
        _fail_agent(steps, as_text(limit[-1].get("message"))) if limit else steps,
        location=location,
    )


def _read_messages(rows: list[Row], calls: _Calls, location: str) -> Iterator[TranscriptMessage]:
    """Yield the messages of a session, and where a model call failed for good, an answer that says so."""
    previous: float | None = None
    for row in rows:
        interval = _Interval(start=previous, end=_time(row))
        if row.get("role") == "user" and interval.start is not None and interval.end is not None:
            # A call that failed in the same second as a request was made for that request.
            yield from _failed_answers(calls, replace(interval, end=interval.end - 1), location)
        yield TranscriptMessage(
            value=_message(row, calls, interval), location=f"{location}, message {as_text(row.get('id'))}"
        )
        previous = interval.end
    yield from _failed_answers(calls, _Interval(start=previous), location)


def _failed_answers(calls: _Calls, interval: _Interval, location: str) -> Iterator[TranscriptMessage]:
    if attempts := calls.take_failures(_MODEL_CALLS, interval):
        last = attempts[-1]
        value: JSONObject = {
            "role": "assistant",
            "content": None,
            "error": as_text(last.get("message")) or "error",
            "retries": len(attempts) - 1,
            "ts": last.get("created_at"),
        }
        yield TranscriptMessage(value=value, location=f"{location}, error {as_text(last.get('id'))}")


def _message(row: Row, calls: _Calls, interval: _Interval) -> JSONObject:
    role = as_text(row.get("role"))
    message: JSONObject = {"role": role, "content": row.get("content"), "ts": row.get("created_at")}
    if role == "assistant":
        usage = calls.take_usage(row.get("turn"), interval)
        message |= {
            "tool_calls": as_list(parse_embedded(row.get("tool_args"))),
            "usage": {name: usage[name] for name in ("input_tokens", "output_tokens") if name in usage},
            "retries": len(calls.take_failures(_MODEL_CALLS, interval)),
        }
    elif role == "tool":
        message |= {"tool_call_id": row.get("tool_call_id"), "name": row.get("tool_name")}
        message |= _tool_outcome(row, calls.take_failures([row.get("tool_name")], interval))
    return message


def _tool_outcome(row: Row, failures: list[Row]) -> JSONObject:
    """Return the failure and the retries of a tool call. If Krabs did not make the call, the result is its own text."""
    name, content = as_text(row.get("tool_name")), as_text(row.get("content"))
    if content == f"Permission denied for tool: {name}" or content.startswith("Tool call denied by hook: "):
        return {"error": content, "denied": True}
    if content == f"Tool not found: {name}":
        return {"error": content}
    # A hook may append to the result.
    is_final = bool(failures) and f"{content}\n".startswith(f"{as_text(failures[-1].get('message'))}\n")
    return {"error": content if is_final else None, "retries": len(failures) - int(is_final)}


def _group_by_turn(rows: list[Row]) -> dict[JSONValue, deque[Row]]:
    rows_by_turn: dict[JSONValue, deque[Row]] = defaultdict(deque)
    for row in rows:
        rows_by_turn[row.get("turn")].append(row)
    return rows_by_turn


def _group_attempts(errors: list[Row]) -> dict[JSONValue, deque[list[Row]]]:
    """Group errors by context, and the attempts of one call, which are numbered from 0."""
    calls: dict[JSONValue, deque[list[Row]]] = defaultdict(deque)
    for row in errors:
        failed_calls = calls[row.get("context")]
        if row.get("attempt") and failed_calls:
            failed_calls[-1].append(row)
        else:
            failed_calls.append([row])
    return calls


def _fail_agent(steps: list[RecordedStep], error: str) -> list[RecordedStep]:
    return [replace(steps[0], status=StepStatus.ERROR, error=error or "error"), *steps[1:]]


def _is_answer(row: Row) -> bool:
    return row.get("role") == "assistant" and not as_list(parse_embedded(row.get("tool_args")))


def _time(row: Row) -> float | None:
    return as_number(row.get("created_at"))
