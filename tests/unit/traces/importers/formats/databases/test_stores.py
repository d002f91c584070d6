"""SQLite databases of frameworks and programs: their sessions, threads, executions and conversations."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from tests.unit.traces.importers.formats.databases.test_databases import Rows, database, import_file
from traces.core.json_access import as_object, as_objects
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers.files.errors import BadFile
from traces.payloads.messages import ModelAnswer, ModelRequest

ADK_SESSIONS = "CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time REAL)"
ADK_EVENTS = (
    "CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, timestamp REAL,"
    " event_data TEXT)"
)
ADK_OLD_EVENTS = (
    "CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, author TEXT,"
    " actions BLOB, timestamp TEXT, content TEXT, usage_metadata TEXT, partial BOOLEAN, error_message TEXT)"
)
ADK_STATES = "CREATE TABLE user_states (app_name TEXT, user_id TEXT, state TEXT)"
ITEMS = (
    "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, message_data TEXT NOT NULL,"
    " created_at TIMESTAMP)"
)
STRUCTURE = "CREATE TABLE message_structure (id INTEGER, session_id TEXT, message_id INTEGER, branch_id TEXT,"
STRUCTURE += " sequence_number INTEGER)"
USAGE = "CREATE TABLE turn_usage (id INTEGER, session_id TEXT, branch_id TEXT, user_turn_number INTEGER,"
USAGE += " input_tokens INTEGER)"
AGNO = "CREATE TABLE my_sessions (session_id TEXT, session_type TEXT, user_id TEXT, session_data JSON, runs JSON,"
AGNO += " created_at BIGINT)"
LLM = (
    "CREATE TABLE [responses] ([id] TEXT PRIMARY KEY, [model] TEXT, [prompt] TEXT, [system] TEXT, [prompt_json] TEXT,"
    " [options_json] TEXT, [response] TEXT, [response_json] TEXT, [conversation_id] TEXT, [duration_ms] INTEGER,"
    " [datetime_utc] TEXT, [input_tokens] INTEGER, [output_tokens] INTEGER, [token_details] TEXT,"
    " [resolved_model] TEXT)",
    "CREATE TABLE [conversations] ([id] TEXT PRIMARY KEY, [name] TEXT, [model] TEXT)",
    "CREATE TABLE [tools] ([id] INTEGER PRIMARY KEY, [name] TEXT, [description] TEXT, [input_schema] TEXT)",
    "CREATE TABLE [tool_responses] ([tool_id] INTEGER, [response_id] TEXT)",
    "CREATE TABLE [tool_calls] ([id] INTEGER PRIMARY KEY, [response_id] TEXT, [name] TEXT, [arguments] TEXT,"
    " [tool_call_id] TEXT)",
    "CREATE TABLE [tool_results] ([id] INTEGER PRIMARY KEY, [response_id] TEXT, [name] TEXT, [output] TEXT,"
    " [tool_call_id] TEXT, [exception] TEXT)",
)
CURSOR = ("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)", "CREATE TABLE meta (key TEXT, value TEXT)")
WEBUI = "CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, share_id TEXT, chat JSON, meta JSON, created_at INTEGER)"
N8N = (
    "CREATE TABLE execution_entity (id INTEGER PRIMARY KEY, finished BOOLEAN, mode TEXT, startedAt TEXT,"
    " stoppedAt TEXT, status TEXT)",
    'CREATE TABLE execution_data ("executionId" INTEGER PRIMARY KEY, "workflowData" TEXT, "data" TEXT)',
)
MASTRA = (
    "CREATE TABLE mastra_ai_spans (traceId TEXT, spanId TEXT, parentSpanId TEXT, name TEXT, spanType TEXT,"
    " metadata TEXT, attributes TEXT, input TEXT, output TEXT, startedAt TEXT, endedAt TEXT)",
    "CREATE TABLE mastra_messages (id TEXT, thread_id TEXT, content TEXT, role TEXT, type TEXT, createdAt TEXT)",
    "CREATE TABLE mastra_threads (id TEXT, title TEXT, resourceId TEXT, createdAt TEXT)",
)


def dumps(value: object) -> str:
    return orjson.dumps(value).decode()


def jsonb(value: Any) -> bytes:
    """Return a value of lists, objects and texts as SQLite's function of this name does."""
    if isinstance(value, str):
        content, kind = value.encode(), 7
    elif isinstance(value, list):
        content, kind = b"".join(map(jsonb, value)), 11
    elif isinstance(value, dict):
        content, kind = b"".join(jsonb(part) for pair in value.items() for part in pair), 12
    else:
        content, kind = json.dumps(value).encode(), 3
    return bytes([0xE0 | kind]) + len(content).to_bytes(4, "big") + content


def adk_event(number: int, author: str, role: str, part: dict[str, Any], **facts: Any) -> tuple[str, Sequence[Any]]:
    content = {"role": role, "parts": [part]}
    event = {"id": f"e{number}", "author": author, "timestamp": 1_790_000_000.0 + number, "content": content, **facts}
    return "events", (f"e{number}", "desk", "ann", "s1", "i1", 1_790_000_000.0 + number, dumps(event))


def test_sessions_of_agent_development_kit() -> None:
    rows = [
        ("sessions", ("desk", "ann", "s1", '{"cart": 2}', 1_790_000_000.0)),
        ("sessions", ("desk", "bob", "empty", "{}", 1_790_000_000.0)),
        ("user_states", ("desk", "ann", '{"city": "Oslo"}')),
        adk_event(3, "clerk", "model", {"text": "Three copies."}),
        adk_event(0, "user", "user", {"text": "Is Dune in stock?"}),
        adk_event(1, "clerk", "model", {"function_call": {"id": "c1", "name": "stock", "args": {"title": "Dune"}}}),
        adk_event(2, "clerk", "user", {"function_response": {"id": "c1", "name": "stock", "response": {"copies": 3}}}),
    ]
    (run,), problems = import_file(database([ADK_SESSIONS, ADK_EVENTS, ADK_STATES], rows))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.format, run.external_id, run.app, problems) == ("adk", "s1", "desk", [])
    assert run.metadata == {"user_id": "ann", "state": {"cart": 2, "user:city": "Oslo"}}
    assert (tool.call_id, tool.input, tool.output) == ("c1", {"title": "Dune"}, '{"copies":3}')
    assert fixtures.answer_contents(run) == [None, "Three copies."]


def test_events_of_earlier_versions_are_columns() -> None:
    base = ("desk", "ann", "s1", "i1")
    texts = [dumps({"role": role, "parts": [{"text": text}]}) for role, text in (("user", "Hello"), ("model", "Hi"))]
    rows = [
        ("events", ("e1", *base, "user", b"\x80\x04", "2026-05-01 10:00:00.5", texts[0], None, None, None)),
        (
            "events",
            ("e2", *base, "clerk", b"\x80\x04", "2026-05-01 10:00:01", texts[1], '{"prompt_token_count": 9}', 0, None),
        ),
        ("events", ("e3", *base, "clerk", b"\x80\x04", "2026-05-01 10:00:02", None, None, None, "overloaded")),
    ]
    (run,), problems = import_file(database([ADK_OLD_EVENTS], rows))
    answer, failure = fixtures.steps(run, StepType.MODEL)
    assert (answer.tokens_in, str(answer.ended_at), problems) == (9, "2026-05-01 10:00:01+00:00", [])
    assert (failure.status, failure.error, run.status) == (StepStatus.ERROR, "overloaded", RunStatus.FAILED)


def sdk_items() -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "Is Dune in stock?"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "The shelf."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "stock", "arguments": '{"title": "Dune"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Three."}]},
        {"role": "user", "content": "And Emma?"},
    ]


def test_sessions_of_agents_sdk() -> None:
    rows = [
        ("agent_messages", (number, "s1", dumps(item), f"2026-05-01 10:00:0{number}"))
        for number, item in enumerate(sdk_items(), 1)
    ]
    (run,), problems = import_file(database([ITEMS], rows))
    first, second = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.format, run.external_id, problems) == ("agents-sdk-session", "s1", [])
    assert ModelAnswer(first.output).calls[0]["id"] == tool.call_id == "c1"
    assert [mark["id"] for mark in as_objects(first.attributes["continuation"])] == ["rs_1", "fc_1"]
    assert (str(first.ended_at), str(second.started_at)) == ("2026-05-01 10:00:03+00:00", "2026-05-01 10:00:04+00:00")
    assert fixtures.answer_contents(run)[1] == "Three."


def test_branches_of_a_session_are_runs() -> None:
    rows: list[tuple[str, Sequence[Any]]] = [
        ("agent_messages", (number, "s1", dumps(item), "2026-05-01 10:00:00"))
        for number, item in enumerate([*sdk_items(), {"role": "assistant", "content": "No."}], 1)
    ]
    places = [(1, "main"), (2, "main"), (3, "main"), (4, "main"), (5, "main"), (1, "b2"), (7, "b2")]
    rows += [("message_structure", (at, "s1", id, branch, at)) for at, (id, branch) in enumerate(places)]
    rows += [("turn_usage", (1, "s1", "main", 1, 120)), ("agent_messages", (8, "s2", "not JSON", None))]
    (main, branch), problems = import_file(database([ITEMS, STRUCTURE, USAGE], rows))
    assert (main.external_id, branch.external_id) == ("s1", "s1/b2")
    assert main.metadata["turn_usage"] == [{"user_turn_number": 1, "input_tokens": 120}]
    # The item without a place belongs to the main branch.
    assert [step.name for step in fixtures.steps(main, StepType.TURN)] == ["Is Dune in stock?", "And Emma?"]
    assert fixtures.answer_contents(branch) == ["No."]
    assert "an item that is no JSON object" in problems[0]


def test_sessions_of_agno() -> None:
    messages = [
        {"role": "user", "content": "2 + 2?", "created_at": 1_790_000_000},
        {"role": "assistant", "content": "4", "created_at": 1_790_000_001, "metrics": {"input_tokens": 9}},
    ]
    run_row = {"run_id": "r1", "agent_id": "a1", "agent_name": "Adder", "model": "gpt-5", "messages": messages}
    rows = [
        ("my_sessions", ("s1", "agent", "ann", '{"session_state": {"n": 1}}', dumps([run_row]), 1_790_000_000)),
        ("my_sessions", ("s2", "agent", "ann", "{}", None, 1_790_000_000)),
    ]
    (run,), problems = import_file(database([AGNO], rows))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.format, run.external_id, run.app, problems) == ("agno", "s1", "Adder", [])
    assert (model.model, model.tokens_in, run.metadata["user_id"]) == ("gpt-5", 9, "ann")


def test_conversations_of_llm() -> None:
    schema = '{"type": "object", "properties": {"title": {"type": "string"}}}'
    empty = (None,) * 2
    first = ("r1", "4o", "Is Dune in stock?", "Be brief.", None, '{"temperature": 0.1}', "", None, "c1", 800)
    second = ("r2", "4o", "", None, None, "{}", "Three copies.", None, "c1", 400)
    rows = [
        ("conversations", ("c1", "Stock", "4o")),
        (
            "responses",
            (*second, "2026-05-01T10:00:01", 30, 4, '{"prompt_tokens_details": {"cached_tokens": 7}}', "gpt-4o-1"),
        ),
        ("responses", (*first, "2026-05-01T10:00:00", 20, 5, *empty)),
        ("tools", (1, "stock", "Counts.", schema)),
        ("tool_responses", (1, "r1")),
        ("tool_calls", (1, "r1", "stock", '{"title": "Dune"}', "t1")),
        ("tool_results", (1, "r2", "stock", "3", "t1", None)),
    ]
    (run,), problems = import_file(database(LLM, rows))
    call, answer = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    request = ModelRequest(call.input)
    assert (run.format, run.external_id, run.name, problems) == ("llm-logs", "c1", "Stock", [])
    assert [as_object(message)["content"] for message in request.messages] == ["Be brief.", "Is Dune in stock?"]
    assert "'temperature': 0.1" in str(call.input)
    assert "'title': {'type': 'string'}" in str(call.input)
    assert (tool.call_id, tool.input, tool.output) == ("t1", {"title": "Dune"}, "3")
    assert (answer.model, answer.tokens_in, answer.tokens_cached) == ("gpt-4o-1", 30, 7)
    assert str(answer.ended_at) == "2026-05-01 10:00:01.400000+00:00"


def cursor_rows(messages: list[dict[str, Any]], root: bytes | None = None) -> Rows:
    ids = [bytes([number]) * 32 for number in range(1, len(messages) + 1)]
    listing = b"".join(b"\x0a\x20" + id for id in ids) + b"\x4a\x05/shop" + b"\x50\x01"
    meta = {"agentId": "a-1", "latestRootBlobId": "ff", "name": "Stock", "createdAt": 1_790_000_000_000, "mode": "auto"}
    blobs = [("blobs", (id.hex(), orjson.dumps(item))) for id, item in zip(ids, messages, strict=True)]
    meta_row = ("meta", ("0", orjson.dumps({**meta, "lastUsedModel": "gpt-5"}).hex()))
    return [meta_row, *reversed(blobs), ("blobs", ("ff", listing if root is None else root))]


def test_session_of_cursor_agent() -> None:
    call = {"type": "tool-call", "toolCallId": "t1", "toolName": "Shell", "args": {"command": "ls"}}
    result = {"type": "tool-result", "toolCallId": "t1", "toolName": "Shell", "result": "dune.md"}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a clerk."},
        {"role": "user", "content": [{"type": "text", "text": "List the files."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]},
        {"role": "tool", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": "One file."}]},
    ]
    (run,), problems = import_file(database(CURSOR, cursor_rows(messages)))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.format, run.external_id, run.name, problems) == ("cursor-session", "a-1", "Stock", [])
    assert (tool.name, tool.call_id, tool.input, tool.output) == ("Shell", "t1", {"command": "ls"}, "dune.md")
    assert fixtures.answer_contents(run) == ["I look.", "One file."]
    assert (run.metadata["mode"], fixtures.steps(run, StepType.MODEL)[0].model) == ("auto", "gpt-5")


@pytest.mark.parametrize("root", [b"", b"\x0a", b"\x0a\x20abc", b"\x0f\xff", b"\xff" * 40, b"\x0a\xff\xff\xff\xff\x7f"])
def test_damaged_list_of_messages_is_refused(root: bytes) -> None:
    (runs, problems) = import_file(database(CURSOR, cursor_rows([{"role": "user", "content": "Hello"}], root)))
    assert not runs
    assert problems


def test_chats_of_open_webui() -> None:
    messages = {
        "a": {"id": "a", "role": "user", "content": "In stock?", "childrenIds": ["b"]},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "Yes.", "model": "llama3"},
    }
    chat = {"history": {"messages": messages, "currentId": "b"}, "models": ["llama3"]}
    rows = [("chat", ("c1", "u1", "Stock", None, dumps(chat), '{"tags": ["shop"]}', 1_790_000_000))]
    (run,), problems = import_file(database([WEBUI], rows))
    assert (run.format, run.external_id, run.name, problems) == ("web-chat", "c1", "Stock", [])
    assert run.metadata["meta"] == {"tags": ["shop"]}
    assert fixtures.answer_contents(run) == ["Yes."]


def test_executions_of_n8n() -> None:
    workflow = {"name": "Stock", "nodes": [{"name": "Count", "type": "n8n-nodes-base.code"}], "connections": {}}
    values = [
        {"resultData": "1"},
        {"runData": "2", "lastNodeExecuted": "7"},
        {"Count": "3"},
        ["4"],
        {"startTime": 1_790_000_000_000, "executionTime": 5, "executionStatus": "8", "source": [], "data": "5"},
        {"main": "6"},
        ["12"],
        "Count",
        "success",
        {"json": "10"},
        {"copies": 3, "title": "11", "self": "10"},
        "12",
        ["9"],
    ]
    rows = [
        ("execution_entity", (7, 1, "manual", "2026-09-21 14:13:20.000", "2026-09-21 14:13:21.000", "success")),
        ("execution_entity", (8, 0, "manual", None, None, "new")),
        ("execution_data", (7, dumps(workflow), dumps(values))),
    ]
    (run,), problems = import_file(database(N8N, rows))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.format, run.external_id, run.app, run.status, problems) == ("n8n", "7", "Stock", "completed", [])
    # A text in the list itself is no number, and a value inside itself is left out.
    assert tool.output == {"copies": 3, "title": "12", "self": None}


def test_execution_that_repeats_itself_is_refused() -> None:
    values = [{name: str(number + 1) for name in "abcdefgh"} for number in range(60)]
    rows = [
        ("execution_entity", (7, 1, "manual", None, None, "success")),
        ("execution_data", (7, "{}", dumps([*values, "end"]))),
    ]
    with pytest.raises(BadFile, match="repeat themselves"):
        import_file(database(N8N, rows))


def test_spans_and_threads_of_mastra() -> None:
    text = {"format": 2, "parts": [{"type": "text", "text": "Is Dune in stock?"}]}
    answer = {"format": 2, "parts": [{"type": "step-start"}, {"type": "text", "text": "Yes."}]}
    times = ("2026-05-01T10:00:00.000Z", "2026-05-01T10:00:02.000Z")
    usage = jsonb({"model": "gpt-5", "usage": {"inputTokens": 9, "outputTokens": 2}})
    request, output = jsonb({"messages": [{"role": "user", "content": "Is Dune in stock?"}]}), jsonb({"text": "Yes."})
    call = ("x1", "s2", "s1", "llm: gpt-5", "model_generation", None, usage, request, output, *times)
    rows = [
        (
            "mastra_ai_spans",
            ("x1", "s1", None, "clerk", "agent_run", jsonb({"threadId": "t1"}), None, None, None, *times),
        ),
        ("mastra_ai_spans", call),
        *[
            (
                "mastra_messages",
                (f"{thread}-{number}", thread, dumps(content), role, "v2", f"2026-05-01T10:00:0{number}Z"),
            )
            for thread in ("t1", "t2")
            for number, (role, content) in enumerate([("user", text), ("assistant", answer)])
        ],
        ("mastra_threads", ("t2", "Stock", "ann", times[0])),
    ]
    (trace, thread), problems = import_file(database(MASTRA, rows))
    (model,) = fixtures.steps(trace, StepType.MODEL)
    assert (trace.external_id, thread.external_id, thread.name, problems) == ("x1", "t2", "Stock", [])
    assert (model.model, model.tokens_in) == ("gpt-5", 9)
    assert {trace.format, thread.format} == {"mastra"}
    assert fixtures.answer_contents(thread) == ["Yes."]


@pytest.mark.parametrize(
    ("tables", "rows", "problem"),
    [
        ([ADK_EVENTS], [], "this database of the Agent Development Kit is empty"),
        ([ITEMS], [], ""),
        ([AGNO], [], "has no sessions with runs"),
        ([N8N[1]], [], "needs `execution_entity`"),
        (CURSOR, [], "names its messages in `meta`"),
        (LLM, [], "this database of llm is empty"),
        (
            ["CREATE TABLE sessions (id TEXT, started_at REAL)", "CREATE TABLE messages (id INTEGER, content TEXT)"],
            [],
            "an SQLite database with the tables messages, sessions",
        ),
        (["CREATE TABLE compression_locks (session_id TEXT)"], [], "hermes sessions export"),
    ],
)
def test_databases_without_runs_are_refused(tables: Sequence[str], rows: Rows, problem: str) -> None:
    try:
        runs, problems = import_file(database(tables, rows))
    except BadFile as refusal:
        runs, problems = [], [str(refusal)]
    assert not runs
    assert any(problem in text for text in problems) or not problem


def test_database_with_its_tables_in_the_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(ITEMS)
        connection.commit()
        data = path.read_bytes()
    runs, problems = import_file(data)
    assert not runs
    assert "its tables are in its write-ahead log" in problems[0]
