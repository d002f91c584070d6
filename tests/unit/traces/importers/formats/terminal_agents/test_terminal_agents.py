"""Sessions of agents for terminals: their calls, results, tokens and times."""

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_list, as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType

CRUSH: Final = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, prompt_tokens INTEGER, cost REAL,
                       created_at INTEGER);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER);
"""
GOOSE: Final = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, provider_name TEXT, model_config_json TEXT, created_at TEXT,
                       total_tokens INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT,
                       created_timestamp INTEGER);
"""
START: Final = 1_772_359_200


def calls(run: RecordedRun) -> list[tuple[str, str, object, StepStatus]]:
    return [(step.name, step.call_id, step.output, step.status) for step in fixtures.steps(run, StepType.TOOL)]


def json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def crush_message(number: int, session: str, role: str, *parts: tuple[str, dict[str, Any]]) -> tuple[Any, ...]:
    content = json_text([{"type": type, "data": data} for type, data in parts])
    return f"m{number}", session, role, content, "gpt-5" if role == "assistant" else "", START + number


def test_crush_database_nests_subagents(connection: sqlite3.Connection) -> None:
    connection.executescript(CRUSH)
    rows = [("s1", None, "Stock", 900, 0.5, START), ("m1$$call_1", "s1", "Search", 10, 0.25, START)]
    connection.executemany("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", rows)
    call = {"id": "call_1", "name": "agent", "input": '{"prompt": "Count"}'}
    failed = {"tool_call_id": "call_1", "content": "no shelf", "is_error": True, "metadata": '{"shelf": 7}'}
    messages = [
        crush_message(0, "s1", "user", ("text", {"text": "Is Dune in stock?"})),
        crush_message(1, "s1", "assistant", ("reasoning", {"thinking": "ask"}), ("tool_call", call)),
        crush_message(2, "m1$$call_1", "user", ("text", {"text": "Count"})),
        crush_message(3, "m1$$call_1", "assistant", ("text", {"text": "none"})),
        crush_message(4, "s1", "tool", ("tool_result", failed)),
        crush_message(5, "s1", "assistant", ("finish", {"reason": "error", "message": "overloaded"})),
    ]
    connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", messages)
    ((run,), problems) = fixtures.detect_and_read("crush", connection.serialize())
    assert (run.external_id, run.name, run.steps[0].cost_usd, problems) == ("s1", "Stock", Decimal("0.5"), [])
    assert calls(run) == [("agent", "call_1", "no shelf", StepStatus.ERROR)]
    agent = next(step for step in run.steps if step.name == "Search")
    caller = fixtures.steps(run, StepType.TOOL)[0]
    assert (agent.parent, agent.cost_usd) == (caller.key, Decimal("0.25"))
    assert caller.attributes["metadata"] == {"shelf": 7}
    assert [step.error for step in fixtures.steps(run, StepType.MODEL) if step.error] == ["overloaded"]


def test_goose_database_has_sessions(connection: sqlite3.Connection) -> None:
    connection.executescript(GOOSE)
    model = '{"model_name": "claude-4"}'
    session = ("20260301_1", "Stock", "anthropic", model, "2026-03-01 10:00:00", 700)
    connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", session)
    for record in list(fixtures.source("goose.jsonl").records())[1:]:
        message: Any = record.value
        content = (message["role"], json_text(message["content"]), message["created"])
        connection.execute("INSERT INTO messages VALUES (NULL, '20260301_1', ?, ?, ?)", content)
    ((run,), problems) = fixtures.detect_and_read("goose", connection.serialize())
    assert (run.external_id, run.metadata["total_tokens"], problems) == ("20260301_1", 700, [])
    assert calls(run) == calls(fixtures.run("goose.jsonl"))
    assert {step.model for step in fixtures.steps(run, StepType.MODEL)} == {"claude-4"}


def test_other_database_names_its_tables(connection: sqlite3.Connection) -> None:
    connection.executescript("CREATE TABLE sessions (id); CREATE TABLE messages (id, session_id, body);")
    runs, (problem,) = fixtures.detect_and_read("krabs", connection.serialize())
    assert (runs, "the tables messages, sessions" in problem) == ([], True)


def qwen_line(number: int, type: str, message: dict[str, Any], **facts: Any) -> dict[str, Any]:
    parent = f"u{number - 1}" if number else None
    ids = {"uuid": f"u{number}", "parentUuid": parent, "sessionId": "q1", "timestamp": "2026-03-01T10:00:00Z"}
    return {**ids, "type": type, "message": message, **facts}


def test_qwen_chat_has_calls_and_tokens() -> None:
    parts = [
        {"text": "look", "thought": True},
        {"functionCall": {"id": "c1", "name": "find", "args": {"title": "Dune"}}},
    ]
    result = {"functionResponse": {"id": "c1", "name": "find", "response": {"output": "locked"}}}
    failure = {"callId": "c1", "status": "error", "error": {"message": "the shelf is locked"}}
    usage = {"promptTokenCount": 90, "candidatesTokenCount": 5, "cachedContentTokenCount": 40}
    lines = [
        qwen_line(0, "user", {"role": "user", "parts": [{"text": "Is Dune in stock?"}]}),
        qwen_line(1, "assistant", {"role": "model", "parts": parts}, model="qwen3", usageMetadata=usage),
        qwen_line(2, "tool_result", {"role": "user", "parts": [result]}, toolCallResult=failure),
        qwen_line(3, "assistant", {"role": "model", "parts": [{"text": "Unknown."}]}, model="qwen3"),
    ]
    ((run,), problems) = fixtures.detect_and_read("qwen-code", fixtures.json_lines(lines))
    assert (run.external_id, problems) == ("q1", [])
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.input, tool.error) == ("find", {"title": "Dune"}, "the shelf is locked")
    model = fixtures.steps(run, StepType.MODEL)[0]
    assert (model.model, model.tokens_in, model.tokens_out, model.tokens_cached) == ("qwen3", 90, 5, 40)


def test_parallel_results_of_qwen_belong_to_their_calls() -> None:
    names = ("find", "count")
    uses = [{"functionCall": {"id": name, "name": name, "args": {}}} for name in names]
    answers = [{"functionResponse": {"id": name, "name": name, "response": {"output": f"{name}ed"}}} for name in names]
    lines = [
        qwen_line(0, "user", {"role": "user", "parts": [{"text": "Is Dune in stock?"}]}),
        qwen_line(1, "assistant", {"role": "model", "parts": uses}),
        # Each line has all results.
        qwen_line(2, "tool_result", {"parts": answers}, toolCallResult={"callId": "find", "status": "success"}),
        qwen_line(
            3, "tool_result", {"parts": answers}, toolCallResult={"callId": "count", "status": "error", "error": {}}
        ),
        qwen_line(4, "user", {"role": "user", "parts": [{"text": "A task ended."}]}, subtype="notification"),
        {**qwen_line(5, "system", {}, subtype="custom_title"), "systemPayload": {"customTitle": "Stock"}},
        qwen_line(6, "assistant", {"role": "model", "parts": [{"text": "Yes."}]}),
    ]
    ((run,), problems) = fixtures.detect_and_read("qwen-code", fixtures.json_lines(lines))
    find, count = fixtures.steps(run, StepType.TOOL)
    assert (find.status, count.status, count.error, problems) == (StepStatus.OK, StepStatus.ERROR, "error", [])
    assert (run.name, len(fixtures.steps(run, StepType.TURN))) == ("Stock", 1)
    assert len(fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[1])) == 5


def cursor_event(type: str, subtype: str = "", **fields: Any) -> dict[str, Any]:
    return {"type": type, **({"subtype": subtype} if subtype else {}), "session_id": "c1", **fields}


def cursor_text(role: str, text: str, **fields: Any) -> dict[str, Any]:
    return cursor_event(role, message={"role": role, "content": [{"type": "text", "text": text}]}, **fields)


def test_cursor_output_has_calls_and_whole_texts() -> None:
    shell: dict[str, Any] = {"shellToolCall": {"args": {"command": "ls"}}}
    failed = {"shellToolCall": {**shell["shellToolCall"], "result": {"failure": {"exitCode": 2, "stderr": "no shelf"}}}}
    events = [
        cursor_event("system", "init", apiKeySource="login", model="gpt-5", cwd="/shop"),
        cursor_text("user", "Is Dune in stock?"),
        cursor_event("thinking", "delta", text="look ", timestamp_ms=START * 1000),
        cursor_event("thinking", "delta", text="there", timestamp_ms=START * 1000),
        cursor_text("assistant", "I ", timestamp_ms=START * 1000),
        cursor_text("assistant", "look.", timestamp_ms=START * 1000),
        cursor_text("assistant", "I look.", timestamp_ms=START * 1000, model_call_id="mc1"),
        cursor_event("tool_call", "started", call_id="t1", tool_call=shell, model_call_id="mc1"),
        cursor_event("tool_call", "started", call_id="t2", tool_call=shell, model_call_id="mc1"),
        cursor_event("tool_call", "completed", call_id="t1", tool_call=failed, model_call_id="mc1"),
        cursor_text("assistant", "Unknown."),
        cursor_event(
            "result", "success", is_error=False, duration_ms=900, usage={"inputTokens": 70, "outputTokens": 8}
        ),
    ]
    ((run,), problems) = fixtures.detect_and_read("cursor", fixtures.json_lines(events))
    assert (run.external_id, run.steps[0].tokens_in, run.steps[0].tokens_out, problems) == ("c1", 70, 8, [])
    thought = {"type": "thinking", "thinking": "look there"}
    assert fixtures.answer_contents(run) == [[thought, {"type": "text", "text": "I look."}], "Unknown."]
    failure, pending = fixtures.steps(run, StepType.TOOL)
    assert (failure.name, failure.error, pending.status) == ("shell", "no shelf", StepStatus.PARTIAL)


def test_amazon_q_conversation_has_times_and_results() -> None:
    use = {"id": "t1", "name": "fs_read", "args": {"path": "stock"}}
    answer = {"ToolUse": {"message_id": "m1", "content": "I look.", "tool_uses": [use]}}
    call = {
        "model_id": "claude-4",
        "request_start_timestamp_ms": START * 1000,
        "stream_end_timestamp_ms": START * 1000 + 500,
    }
    result = {"tool_use_id": "t1", "content": [{"Text": "locked"}], "status": "Error"}
    history = [
        {
            "user": {"content": {"Prompt": {"prompt": "Is Dune in stock?"}}},
            "assistant": answer,
            "request_metadata": call,
        },
        [{"content": {"ToolUseResults": {"tool_use_results": [result]}}}, {"Response": {"content": "Unknown."}}],
    ]
    ((run,), problems) = fixtures.detect_and_read(
        "amazon-q", orjson.dumps({"conversation_id": "q1", "history": history})
    )
    assert (run.external_id, problems) == ("q1", [])
    assert calls(run) == [("fs_read", "t1", "locked", StepStatus.ERROR)]
    model = fixtures.steps(run, StepType.MODEL)[0]
    start = datetime.fromtimestamp(START, UTC)
    assert (model.started_at, model.ended_at) == (start, start + timedelta(milliseconds=500))


def test_session_tree_keeps_branches_and_usage() -> None:
    usage = {"input": 9, "output": 3, "cacheRead": 20, "cost": {"input": 0.1, "total": 0.25}}
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "stock"}}
    result = {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "content": "locked", "isError": True}
    texts = [{"type": "text", "text": "Unknown."}]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Is Dune in stock?"},
        {"role": "assistant", "content": [call], "model": "claude-4", "usage": usage, "stopReason": "toolUse"},
        result,
        {"role": "assistant", "content": texts},
    ]
    lines = [
        {"type": "message", "id": f"m{number}", "parentId": f"m{number - 1}" if number else None, "message": message}
        for number, message in enumerate(messages)
    ]
    other = {"type": "message", "id": "m9", "parentId": "m0", "message": {"role": "assistant", "content": texts}}
    header = {"type": "session", "version": 3, "id": "p1", "cwd": "/shop"}
    data = fixtures.json_lines([header, lines[0], other, *lines[1:]])
    ((run, branch), problems) = fixtures.detect_and_read("session-tree", data)
    assert (run.external_id, run.app, branch.external_id, problems) == ("p1", "pi", "p1/m9", [])
    assert calls(run) == [("read", "t1", "locked", StepStatus.ERROR)]
    model = fixtures.steps(run, StepType.MODEL)[0]
    assert (model.model, model.tokens_in, model.tokens_cached, model.cost_usd) == ("claude-4", 29, 20, Decimal("0.25"))


def test_amp_thread_has_results_and_usage() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "stock"}, "complete": True}
    usage = {"model": "claude-4", "inputTokens": 9, "outputTokens": 3, "cacheReadInputTokens": 20}
    failed = {"status": "error", "error": {"message": "no shelf"}}
    messages = [
        {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Is Dune in stock?"}]},
        {"role": "assistant", "messageId": 1, "content": [use], "usage": usage, "state": {"stopReason": "tool_use"}},
        {"role": "user", "messageId": 2, "content": [{"type": "tool_result", "toolUseID": "t1", "run": failed}]},
        {"role": "info", "content": [{"type": "text", "text": "The thread was handed over."}]},
        {"role": "assistant", "messageId": 3, "content": [], "state": {"type": "error", "error": {"message": "busy"}}},
    ]
    ((run,), problems) = fixtures.detect_and_read("amp", orjson.dumps({"id": "T-1", "messages": messages}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.call_id, tool.error, problems) == ("Read", "t1", "no shelf", [])
    model, refused = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.tokens_in, model.tokens_cached, refused.error) == ("claude-4", 29, 20, "busy")
    assert len(fixtures.steps(run, StepType.TURN)) == 1


def test_chat_debug_log_has_whole_requests() -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}}
    times = {"startTime": "2026-03-01T10:00:00Z", "endTime": "2026-03-01T10:00:02Z"}
    messages: list[dict[str, Any]] = [
        {"role": 0, "content": [{"type": 1, "text": "You keep a bookshop."}]},
        {"role": 2, "content": [], "toolCalls": [{"id": "t1", "function": {"name": "find", "arguments": "{}"}}]},
        {"role": 3, "toolCallId": "t1", "content": [{"type": 1, "text": "3 copies"}]},
    ]
    request: dict[str, Any] = {"id": "r1", "kind": "request", "requestMessages": {"messages": messages}}
    request |= {"metadata": {"model": "gpt-5", "usage": usage, **times}}
    answer = {"type": "success", "message": ["Three."]}
    logs = [
        {**request, "type": "ChatMLSuccess", "response": answer},
        {"id": "t1", "kind": "toolCall", "tool": "find", "args": '{"title": "Dune"}', "response": ["3 copies"]},
        {**request, "type": "ChatMLFailure", "response": {"type": "failed", "reason": "rate limited"}},
    ]
    body = {"prompts": [{"prompt": "Is Dune in stock?", "logs": logs}]}
    ((run,), problems) = fixtures.detect_and_read("chat-replay", orjson.dumps(body))
    model, refused = fixtures.steps(run, StepType.MODEL)
    assert (model.tokens_in, model.tokens_cached, refused.error, problems) == (90, 40, "rate limited", [])
    assert fixtures.request_contents(model) == ["You keep a bookshop.", None, "3 copies"]
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, tool.parent) == ({"title": "Dune"}, "3 copies", "prompt-1")


def test_markdown_history_has_models_and_tools() -> None:
    text = """<!-- Generated by SpecStory -->

# Stock

<!-- Claude Code Session 0f2a3b4c-1d2e -->

_**User (2026-03-01 10:00:00Z)**_

Is Dune in stock?

---

_**Agent (gpt-5 2026-03-01 10:00:05Z)**_

I look.

<tool-use data-tool-type="search" data-tool-name="find"><details>3 copies</details></tool-use>

---
"""
    ((run,), problems) = fixtures.detect_and_read("specstory", text.encode(), "stock.md")
    assert (run.external_id, run.name, problems) == ("0f2a3b4c-1d2e", "Stock", [])
    (tool,), (model,) = fixtures.steps(run, StepType.TOOL), fixtures.steps(run, StepType.MODEL)
    assert (tool.name, tool.output, model.model) == ("find", "<details>3 copies</details>", "gpt-5")
    assert model.ended_at == datetime(2026, 3, 1, 10, 0, 5, tzinfo=UTC)


def test_many_empty_lines_are_read_in_linear_time() -> None:
    text = (
        "<!-- Generated by SpecStory -->\n\n# Stock\n\n_**User**_\n\n" + "\n" * 150_000 + "Is Dune in stock?\n\n---\n"
    )
    start = time.process_time()
    ((run,), _) = fixtures.detect_and_read("specstory", text.encode(), "stock.md")
    assert time.process_time() - start < 2
    assert run.name == "Stock"


def test_amazon_q_database_has_conversations(connection: sqlite3.Connection) -> None:
    connection.executescript("CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT);")
    user = {"content": {"Prompt": {"prompt": "Is Dune in stock?"}}, "timestamp": None}
    answer = {"Response": {"message_id": "m1", "content": "Yes."}}
    value = json_text({"conversation_id": "q1", "history": [{"user": user, "assistant": answer}]})
    connection.executemany("INSERT INTO conversations_v2 VALUES ('/shop', ?, ?)", [("q1", value), ("q2", "{}")])
    (run,), (problem,) = fixtures.detect_and_read("amazon-q", connection.serialize())
    assert (run.external_id, run.metadata["folder"], run.steps[-1].output) == ("q1", "/shop", {"text": "Yes."})
    assert "row 2" in problem


def test_droid_session_without_parents_is_one_run() -> None:
    texts = [("user", "Is Dune in stock?"), ("assistant", "Yes."), ("user", "How many?"), ("assistant", "Three.")]
    lines: list[dict[str, Any]] = [{"type": "session_start", "id": "d1", "title": "Stock", "cwd": "/shop"}]
    for number, (role, text) in enumerate(texts):
        lines.append({"type": "message", "id": f"m{number}", "message": {"role": role, "content": text}})
    ((run,), problems) = fixtures.detect_and_read("session-tree", fixtures.json_lines(lines))
    assert (run.external_id, run.app, run.name, problems) == ("d1", "droid", "Stock", [])
    assert fixtures.answer_contents(run) == ["Yes.", "Three."]


def test_pieces_of_a_text_are_one_answer() -> None:
    pieces = [cursor_text("assistant", "Three "), cursor_text("assistant", "copies.")]
    init = cursor_event("system", "init", apiKeySource="login", model="gpt-5")
    events = [init, cursor_text("user", "How many?"), *pieces]
    ((run,), _) = fixtures.detect_and_read("cursor", fixtures.json_lines(events))
    assert fixtures.answer_contents(run) == ["Three copies."]


def test_last_title_of_a_session_tree_is_its_name() -> None:
    lines = [
        {"type": "title", "v": 1, "title": "Books"},
        {"type": "session", "version": 3, "id": "s", "cwd": "/shelf"},
        {"type": "message", "id": "u", "parentId": None, "message": {"role": "user", "content": "Count them."}},
        {"type": "message", "id": "a", "parentId": "u", "message": {"role": "assistant", "content": "Five."}},
        {"type": "title_change", "id": "t", "parentId": "a", "title": "Red books"},
    ]
    (run,) = fixtures.read("session-tree", lines)
    assert run.name == "Red books"


def test_addition_of_an_extension_of_pi_is_in_the_requests() -> None:
    addition = {
        "type": "custom_message",
        "id": "c",
        "parentId": None,
        "customType": "shelf",
        "details": {"from": "kit"},
    }
    lines = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/shelf"},
        {**addition, "content": "Shelf 3 is full.", "display": False},
        {"type": "message", "id": "u", "parentId": "c", "message": {"role": "user", "content": "Count them."}},
        {"type": "message", "id": "a", "parentId": "u", "message": {"role": "assistant", "content": "Five."}},
    ]
    (run,) = fixtures.read("session-tree", lines)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert fixtures.request_contents(model) == ["Shelf 3 is full.", "Count them."]
    assert [step.name for step in fixtures.steps(run, StepType.TURN)] == ["Count them."]
    (event,) = (as_object(event) for event in as_list(run.metadata["events"]))
    assert (event["customType"], event["details"]) == ("shelf", {"from": "kit"})


def test_output_of_pi_has_each_message_once() -> None:
    request = {"role": "user", "content": "Count them."}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Five."}], "model": "gpt-5"}
    events: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/shelf"},
        {"type": "turn_start"},
    ]
    for message in (request, answer):
        events += [{"type": f"message_{moment}", "message": message} for moment in ("start", "update", "end")]
    events += [{"type": "turn_end", "message": answer, "toolResults": []}, {"type": "agent_end", "messages": []}]
    ((run,), problems) = fixtures.detect_and_read("session-tree", fixtures.json_lines(events))
    assert ([step.name for step in fixtures.steps(run, StepType.TURN)], problems) == (["Count them."], [])
    assert fixtures.answer_contents(run) == ["Five."]
