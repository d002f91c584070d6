"""Krabs databases and telemetry with many sessions, some of them damaged."""

import sqlite3
from contextlib import closing
from typing import Any

import orjson
import pytest

from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
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


def add_sessions(connection: sqlite3.Connection, count: int) -> None:
    connection.executescript(SCHEMA)
    for number in range(count):
        session = f"s{number}"
        connection.execute("INSERT INTO sessions VALUES (?, 'a', 'm', 'local', ?)", (session, 1_700_000_000 + number))
        usage = (number, session, 0, number, 1)
        connection.execute("INSERT INTO token_usage VALUES (?, ?, ?, ?, ?)", usage)
        for role in ("user", "assistant"):
            message = (session, role, f"{role} {number}")
            connection.execute("INSERT INTO messages (session_id, turn, role, content) VALUES (?, 0, ?, ?)", message)


def read(data: bytes) -> tuple[list[RecordedRun], list[str]]:
    source = Source(name="krabs.db", data=data)
    runs = list(registry.get_importer("krabs").runs([source]))
    return runs, [str(problem) for problem in source.problems]


def test_many_sessions_need_little_work(connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "_MOST_WORK", 150)
    add_sessions(connection, 200)
    runs, problems = read(connection.serialize())
    assert problems == []
    assert [run.external_id for run in runs] == [f"s{number}" for number in range(200)]
    assert all(f"assistant {number}" in str(run.steps[-1].output) for number, run in enumerate(runs))
    assert sum(step.tokens_in or 0 for step in runs[7].steps) == 7


def test_bad_session_leaves_others_intact(connection: sqlite3.Connection) -> None:
    add_sessions(connection, 3)
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


# Seconds; the turns of every request begin at 0
CALLS_AND_FAILURES = """
INSERT INTO sessions VALUES ('s', 'a', 'm', 'local', 100);
CREATE TABLE errors (id INTEGER PRIMARY KEY, session_id TEXT, turn INTEGER, context TEXT, message TEXT,
                     attempt INTEGER, created_at INTEGER);
INSERT INTO messages (session_id, turn, role, content, tool_call_id, tool_name, tool_args, created_at) VALUES
    ('s', 0, 'user', 'Is Dune in stock?', NULL, NULL, NULL, 100),
    ('s', 0, 'assistant', '', NULL, NULL, '[{"id": "c1", "name": "find"}, {"id": "c2", "name": "find"}]', 110),
    ('s', 0, 'tool', 'yes', 'c1', 'find', NULL, 111),
    ('s', 0, 'tool', 'HTTP 503', 'c2', 'find', NULL, 114),
    ('s', 1, 'assistant', 'Yes.', NULL, NULL, NULL, 115),
    ('s', 0, 'user', 'Reserve it.', NULL, NULL, NULL, 200),
    ('s', 0, 'assistant', '', NULL, NULL, '[{"id": "c3", "name": "find"}, {"id": "c4", "name": "buy"},
                                            {"id": "c5", "name": "sell"}]', 201),
    ('s', 0, 'tool', 'still there', 'c3', 'find', NULL, 202),
    ('s', 0, 'tool', 'Permission denied for tool: buy', 'c4', 'buy', NULL, 203),
    ('s', 0, 'tool', 'Tool not found: sell', 'c5', 'sell', NULL, 204);
INSERT INTO errors (session_id, turn, context, message, attempt, created_at) VALUES
    ('s', 0, 'llm_stream', 'HTTP 429', 0, 101), ('s', 0, 'llm_stream', 'HTTP 429', 1, 102),
    ('s', 0, 'find', 'HTTP 503', 0, 112), ('s', 0, 'find', 'HTTP 503', 1, 113);
"""


def failing_session(rows: str = "") -> RecordedRun:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA + CALLS_AND_FAILURES + rows)
        (run,), problems = read(connection.serialize())
    assert problems == []
    return run


def test_failed_attempts_belong_to_their_call() -> None:
    run = failing_session()
    calls = [step for step in run.steps if step.type in {StepType.MODEL, StepType.TOOL}]
    assert [(step.name, step.status.value, step.retries) for step in calls] == [
        ("m", "ok", 2),
        ("find", "ok", 0),
        ("find", "error", 1),
        ("m", "ok", 0),
        ("m", "ok", 0),
        ("find", "ok", 0),
        ("buy", "denied", 0),
        ("sell", "error", 0),
    ]
    # The agent died before it had answered
    assert run.status is RunStatus.PARTIAL


@pytest.mark.parametrize("error", ["llm_complete", "max_turns"])
def test_session_that_ends_with_an_error_failed(error: str) -> None:
    rows = f"""
        INSERT INTO errors (session_id, turn, context, message, attempt, created_at) VALUES
            ('s', 1, '{error}', 'no more', 0, 205), ('s', 1, '{error}', 'no more', 1, 206);
    """
    run = failing_session(rows)
    assert run.status is RunStatus.FAILED
    failed = run.steps[-1] if error == "llm_complete" else run.steps[0]
    assert (failed.status, failed.error) == (StepStatus.ERROR, "no more")
    assert failed.retries == (1 if error == "llm_complete" else 0)


def test_tokens_of_messages_rolled_back_are_left_out() -> None:
    run = failing_session(
        """
        ALTER TABLE token_usage ADD COLUMN created_at INTEGER;
        INSERT INTO token_usage (session_id, turn, input_tokens, output_tokens, created_at) VALUES
            ('s', 0, 10, 1, 110), ('s', 1, 20, 2, 115), ('s', 0, 99, 9, 150), ('s', 0, 30, 3, 201);
        """
    )
    assert [step.tokens_in for step in run.steps if step.type is StepType.MODEL] == [10, 20, 30]
