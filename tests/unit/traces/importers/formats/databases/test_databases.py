"""Checkpoints of LangGraph and runtime logs of AutoGen in SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec
import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelRequest

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
Rows = Sequence[tuple[str, Sequence[Any]]]


def database(tables: Sequence[str], rows: Rows) -> bytes:
    with sqlite3.connect(":memory:") as connection:
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
