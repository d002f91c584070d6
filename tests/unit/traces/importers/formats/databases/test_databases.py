"""Checkpoints of LangGraph and runtime logs of AutoGen in SQLite."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import msgspec
import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelAnswer, ModelRequest

CHECKPOINTS = (
    "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT,"
    " type TEXT, checkpoint BLOB, metadata BLOB)"
)
WRITES = (
    "CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, task_path TEXT,"
    " idx INTEGER, channel TEXT, type TEXT, value BLOB)"
)
LOG = (
    "CREATE TABLE chat_completions (id INTEGER, invocation_id TEXT, session_id TEXT, source_name TEXT, request TEXT,"
    " response TEXT, is_cached INTEGER, cost REAL, start_time TEXT, end_time TEXT)"
)
FUNCTIONS = (
    "CREATE TABLE function_calls (source_id INTEGER, source_name TEXT, function_name TEXT, args TEXT, returns TEXT,"
    " timestamp TEXT)"
)
CURSOR = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
Rows = Sequence[tuple[str, Sequence[Any]]]


def database(tables: Sequence[str], rows: Rows) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        for table in tables:
            connection.execute(table)
        for table, row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
        return bytes(connection.serialize())


def import_file(data: bytes) -> tuple[list[RecordedRun], list[str]]:
    source = Source(name="file.sqlite", data=data)
    runs = list(registry.detect(fixtures.sample(source.name, data)).runs([source]))
    return runs, [str(problem) for problem in source.problems]


def message(kind: str, **fields: Any) -> msgspec.msgpack.Ext:
    """Return a message as LangGraph writes a Pydantic object: its module, class, fields and constructor."""
    parts = (f"langchain_core.messages.{kind}", kind, {"type": kind, **fields}, "model_validate_json")
    return msgspec.msgpack.Ext(5, msgspec.msgpack.encode(parts))


def checkpoint(number: int, messages: list[Any]) -> tuple[str, Sequence[Any]]:
    channels = {"messages": messages, "branch:to:agent": None, "score": float("nan")}
    state = {"ts": f"2026-01-01T00:00:0{number}Z", "channel_values": channels}
    parent = f"c{number - 1}" if number else None
    metadata = orjson.dumps({"source": "loop" if number else "input", "step": number})
    return "checkpoints", ("t1", "", f"c{number}", parent, "msgpack", msgspec.msgpack.encode(state), metadata)


def write(number: int, channel: str, value: Any) -> tuple[str, Sequence[Any]]:
    data = msgspec.msgpack.encode(value)
    return "writes", ("t1", "", f"c{number}", f"k{number}", "~__pregel_pull, clerk", 0, channel, "msgpack", data)


def test_checkpoints_become_nodes_with_messages() -> None:
    ask = message("human", id="m1", content="Is Dune in stock?")
    usage = {"input_tokens": 20, "output_tokens": 5}
    answer = message("ai", id="m2", content="Yes", usage_metadata=usage, response_metadata={"model_name": "gpt-4o"})
    rows = [
        checkpoint(0, [ask]),
        write(0, "messages", [answer]),
        checkpoint(1, [ask, answer]),
        write(1, "__error__", "RuntimeError('no shop')"),
    ]
    ((run,), problems) = import_file(database([CHECKPOINTS, WRITES], rows))
    (model,) = fixtures.steps(run, StepType.MODEL)
    nodes = [(step.name, step.status, step.error) for step in fixtures.steps(run, StepType.AGENT)[1:]]
    assert (run.format, run.external_id, run.status, problems) == ("langgraph", "t1", RunStatus.FAILED, [])
    assert run.metadata["state"] == {"score": "nan"}
    assert nodes == [("clerk", StepStatus.OK, ""), ("clerk", StepStatus.ERROR, "RuntimeError('no shop')")]
    assert (model.model, model.tokens_in, model.tokens_out) == ("gpt-4o", 20, 5)
    assert [*ModelRequest(model.input).messages] == [{"role": "user", "content": "Is Dune in stock?"}]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "this database has no checkpoints"),
        ([("checkpoints", ("t1", "", "c1", None, "msgpack", b"\xc1", b"{}"))], "not MessagePack"),
        ([("checkpoints", ("t1", "", "c1", None, "msgpack", b"\x91" * 5000, b"{}"))], "not MessagePack"),
    ],
)
def test_damaged_checkpoints_are_refused(rows: Rows, problem: str) -> None:
    runs, problems = import_file(database([CHECKPOINTS, WRITES], rows))
    assert not runs
    assert problem in problems[0]


def test_runtime_log_has_calls_and_functions() -> None:
    request = orjson.dumps({"model": "gpt-4", "messages": [{"role": "user", "content": "Is Dune in stock?"}]}).decode()
    call = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"title": "Dune"}'}}
    choice = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    response = orjson.dumps({"choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 5}}).decode()
    rows = [
        (
            "chat_completions",
            (1, "i1", "s1", "clerk", request, response, 0, 0.5, "2026-01-01 00:00:01", "2026-01-01 00:00:02"),
        ),
        (
            "chat_completions",
            (2, "i2", "s2", "clerk", request, "rate limit", 1, 0, "2026-01-01 00:00:05", "2026-01-01 00:00:06"),
        ),
        ("function_calls", (9, "proxy", "stock", '{"title": "Dune"}', "3 copies", "2026-01-01 00:00:03")),
    ]
    ((first, second), problems) = import_file(database([LOG, FUNCTIONS], rows))
    (model,) = fixtures.steps(first, StepType.MODEL)
    (tool,) = fixtures.steps(first, StepType.TOOL)
    assert (first.external_id, model.tokens_in, str(model.cost_usd), model.parent) == (
        "s1",
        20,
        "0.50000000",
        "agent clerk",
    )
    assert (tool.call_id, tool.input, tool.output, tool.parent) == ("c1", {"title": "Dune"}, "3 copies", "agent proxy")
    (failure,) = fixtures.steps(second, StepType.MODEL)
    assert (failure.status, failure.error, failure.attributes) == (StepStatus.ERROR, "rate limit", {"is_cached": True})
    assert not problems


def cursor_bubble(number: int, kind: int = 2, text: str = "", **fields: Any) -> dict[str, Any]:
    return {"bubbleId": f"b{number}", "type": kind, "text": text, "createdAt": f"2026-10-01T10:00:0{number}Z", **fields}


def cursor_call(id: str, group: str, **fields: Any) -> dict[str, Any]:
    call = {"tool": 5, "name": "read", "toolCallId": id, "modelCallId": group, "rawArgs": '{"path": "stock"}'}
    return {"toolFormerData": {**call, "status": "completed", **fields}}


@pytest.mark.parametrize("is_inline", [False, True])
def test_chats_of_cursor(is_inline: bool) -> None:
    bubbles = [
        cursor_bubble(0, 1, "Is Dune in stock?"),
        cursor_bubble(1, thinking={"text": "The shelf."}, modelInfo={"modelName": "claude-4"}),
        cursor_bubble(2, **cursor_call("t1", "g1", result='{"contents": "3"}')),
        cursor_bubble(3, **cursor_call("t2", "g1", status="error", error={"clientVisibleErrorMessage": "locked"})),
        cursor_bubble(4, **cursor_call("t3", "g2", result="4"), tokenCount={"inputTokens": 9, "outputTokens": 2}),
        cursor_bubble(5),
        cursor_bubble(6, text="Three copies.", tokenCount={"inputTokens": 0, "outputTokens": 0}),
    ]
    headers = [{"bubbleId": bubble["bubbleId"], "type": bubble["type"]} for bubble in bubbles]
    content = {"conversation": bubbles} if is_inline else {"fullConversationHeadersOnly": headers}
    chat = {"composerId": "c-1", "name": "Stock", "createdAt": 1_790_848_800_000, "unifiedMode": "agent", **content}
    rows = [] if is_inline else [(f"bubbleId:c-1:{bubble['bubbleId']}", bubble) for bubble in reversed(bubbles)]
    rows += [("bubbleId:c-1:gone", cursor_bubble(7, text="of a branch")), ("composerData:empty", {"createdAt": 1})]
    rows += [("composerData:c-1", chat), ("checkpointId:x", {})]
    table = [("cursorDiskKV", (key, orjson.dumps(value))) for key, value in rows]
    (run,), problems = import_file(database([CURSOR], table))
    assert (run.external_id, run.name, run.metadata["unifiedMode"], problems) == ("c-1", "Stock", "agent", [])
    first, second, third = fixtures.steps(run, StepType.MODEL)
    assert (first.model, second.tokens_in, third.tokens_in) == ("claude-4", 9, None)
    assert [call["id"] for call in ModelAnswer(first.output).calls] == ["t1", "t2"]
    assert [(step.call_id, step.input, step.output, step.error) for step in fixtures.steps(run, StepType.TOOL)] == [
        ("t1", {"path": "stock"}, '{"contents": "3"}', ""),
        ("t2", {"path": "stock"}, "locked", "locked"),
        ("t3", {"path": "stock"}, "4", ""),
    ]
    assert (run.steps[-1].output, str(third.ended_at)) == ({"text": "Three copies."}, "2026-10-01 10:00:06+00:00")


def test_runtime_log_of_autogen_by_lines() -> None:
    question = {"role": "user", "content": "Which invoices are open?"}
    answer = (
        "ChatCompletion(id='r1', choices=[Choice(finish_reason='tool_calls', index=0, message=ChatCompletionMessage("
        "content=None, role='assistant', tool_calls=[ChatCompletionMessageToolCall(id='c1', function=Function("
        "arguments='{\"status\":\"open\"}', name='find'), type='function')]))], model='gpt-5', usage=CompletionUsage("
        "completion_tokens=12, prompt_tokens=90, total_tokens=102))"
    )
    call = {"client_id": 1, "wrapper_id": 2, "is_cached": 0, "source_name": "clerk"}
    request = {"messages": [question], "model": "gpt-5"}
    first = {
        "invocation_id": "i1",
        "request": request,
        "response": answer,
        "cost": 0.5,
        "start_time": "2026-05-01 10:00",
    }
    failed = {
        "invocation_id": "i2",
        "request": request,
        "response": "Error code: 500",
        "start_time": "2026-05-01 10:02",
    }
    lines = [
        {"session_id": "s1", "agent_name": "clerk", "agent_type": "ConversableAgent", "args": {"name": "clerk"}},
        {**call, **first},
        {
            "source_name": "clerk",
            "input_args": '{"status": "open"}',
            "returns": '"B-7"',
            "timestamp": "2026-05-01 10:01",
        },
        {**call, **failed},
    ]
    runs, _ = fixtures.detect_and_read("autogen-log", fixtures.json_lines(lines), "runtime.log")
    (run,) = runs
    _, model, tool, error = run.steps
    assert run.external_id == "s1"
    assert (model.tokens_in, model.tokens_out, str(model.cost_usd)) == (90, 12, "0.50000000")
    assert (tool.name, tool.call_id, tool.input, tool.output) == ("find", "c1", {"status": "open"}, "B-7")
    assert (error.status, error.error, error.output) == (StepStatus.ERROR, "Error code: 500", None)
