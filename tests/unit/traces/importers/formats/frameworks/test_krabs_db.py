"""Krabs databases and telemetry with many sessions, some of them damaged."""

import sqlite3
from typing import Any

import orjson
import pytest

from traces.core.recorded_run import RecordedRun
from traces.importers import registry
from traces.importers.files import sqlite_file
from traces.importers.files.source import Source

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, agent_id TEXT, model TEXT, provider TEXT, created_at INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, turn INTEGER, role TEXT, content TEXT,
                       tool_call_id TEXT, tool_name TEXT, tool_args TEXT, created_at INTEGER);
CREATE TABLE token_usage (id INTEGER PRIMARY KEY, session_id TEXT, turn INTEGER, input_tokens INTEGER,
                          output_tokens INTEGER);
"""


def database(sessions: int) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    for number in range(sessions):
        session = f"s{number}"
        connection.execute("INSERT INTO sessions VALUES (?, 'a', 'm', 'local', ?)", (session, 1_700_000_000 + number))
        usage = (number, session, 0, number, 1)
        connection.execute("INSERT INTO token_usage VALUES (?, ?, ?, ?, ?)", usage)
        for role in ("user", "assistant"):
            message = (session, role, f"{role} {number}")
            connection.execute("INSERT INTO messages (session_id, turn, role, content) VALUES (?, 0, ?, ?)", message)
    return connection


def read(data: bytes) -> tuple[list[RecordedRun], list[str]]:
    source = Source(name="krabs.db", data=data)
    runs = list(registry.get_importer("krabs").runs([source]))
    return runs, [str(problem) for problem in source.problems]


def test_many_sessions_need_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "_MOST_WORK", 150)
    runs, problems = read(database(200).serialize())
    assert problems == []
    assert [run.external_id for run in runs] == [f"s{number}" for number in range(200)]
    assert all(f"assistant {number}" in str(run.steps[-1].output) for number, run in enumerate(runs))
    assert sum(step.tokens_in or 0 for step in runs[7].steps) == 7


def test_bad_session_leaves_others_intact() -> None:
    connection = database(3)
    connection.execute("DELETE FROM messages WHERE session_id = 's1'")
    connection.execute("UPDATE messages SET created_at = 'soon' WHERE session_id = 's2' AND role = 'user'")
    runs, problems = read(connection.serialize())
    assert [run.external_id for run in runs] == ["s0", "s2"]
    assert "a session without messages (session s1)" in problems
    assert any("session s2, message 5" in problem for problem in problems)


def test_bad_telemetry_line_leaves_sessions_intact() -> None:
    def event(session: str, kind: str, time: int, **body: Any) -> bytes:
        payload = {kind: body}
        return orjson.dumps({"event_type": kind, "timestamp_ms": time, "session_id": session, "payload": payload})

    lines = [event(f"s{number}", "agent_start", 10**12 + number, task="count") for number in range(300)]
    source = Source(name="t.jsonl", data=b"\n".join([*lines, b'{"event_type": "agent_st']))
    assert len(list(registry.get_importer("krabs").runs([source]))) == 300
    assert "line 301" in str(source.problems[0])
