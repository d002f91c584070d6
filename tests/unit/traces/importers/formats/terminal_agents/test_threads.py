"""Threads of Zed, as files and in its database, trajectories of Trae Agent, and output of Gemini CLI."""

import sqlite3
from contextlib import closing
from typing import Any

import orjson
import pytest
import zstandard

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.importers.formats.terminal_agents import cursor

ZED_TABLE = "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)"


def calls(run: RecordedRun) -> list[tuple[str, str, object, StepStatus]]:
    return [(step.name, step.call_id, step.output, step.status) for step in fixtures.steps(run, StepType.TOOL)]


def zed_messages(content: Any) -> list[Any]:
    use = {"ToolUse": {"id": "t1", "name": "read", "input": {"path": "stock"}}}
    result = {"tool_use_id": "t1", "tool_name": "read", "is_error": True, "content": content}
    agent = {"content": [{"Thinking": {"text": "look"}}, use], "tool_results": {"t1": result}}
    return [
        {"User": {"id": "z1", "content": [{"Text": "Is Dune in stock?"}]}},
        {"Agent": agent},
        "Resume",
        {"Agent": {"content": [{"Text": "Unknown."}]}},
    ]


ZED_OLD_MESSAGES = [
    {"id": 0, "role": "user", "segments": [{"type": "text", "text": "Is Dune in stock?"}], "context": ""},
    {
        "id": 1,
        "role": "assistant",
        "segments": [{"type": "thinking", "text": "look"}],
        "tool_uses": [{"id": "t1", "name": "read", "input": {"path": "stock"}}],
        "tool_results": [{"tool_use_id": "t1", "is_error": True, "content": "locked"}],
    },
    {"id": 2, "role": "assistant", "segments": [{"type": "text", "text": "Unknown."}]},
]


@pytest.mark.parametrize(
    "messages", [zed_messages({"Text": "locked"}), zed_messages([{"Text": "locked"}]), ZED_OLD_MESSAGES]
)
@pytest.mark.parametrize("is_packed", [None, False, True])
def test_zed_thread_has_results(messages: list[Any], is_packed: bool | None) -> None:
    body = {"summary": "Stock", "messages": messages, "model": {"provider": "anthropic", "model": "claude-4"}}
    data = orjson.dumps(body)
    if is_packed is not None:
        content = zstandard.compress(data) if is_packed else data
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(ZED_TABLE)
            row = ("z-1", "Stock", "2026-10-01T10:00:00Z", "zstd" if is_packed else "json", content)
            connection.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", row)
            connection.commit()
            data = bytes(connection.serialize())
    ((run,), problems) = fixtures.detect_and_read("zed", data)
    assert (run.external_id == "z-1") is (is_packed is not None)
    assert calls(run) == [("read", "t1", "locked", StepStatus.ERROR)]
    assert fixtures.steps(run, StepType.MODEL)[0].model == "claude-4"
    assert (run.name, run.steps[-1].output, problems) == ("Stock", {"text": "Unknown."}, [])


def test_trae_trajectory_has_results_of_steps() -> None:
    def interaction(second: int, messages: list[Any], **response: Any) -> dict[str, Any]:
        usage = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 20, "reasoning_tokens": None}
        facts = {"timestamp": f"2026-03-01T10:00:0{second}", "model": "claude-4", "input_messages": messages}
        return {**facts, "response": {"content": "", "model": "claude-4-1", "usage": usage, **response}}

    call = {"call_id": "t1", "name": "bash", "arguments": {"command": "ls"}, "id": None}
    result = {"call_id": "t1", "success": False, "result": None, "error": "no shelf", "id": None}
    asked = [{"role": "system", "content": "You count."}, {"role": "user", "content": "Count."}]
    answered = [{"role": "user", "content": None, "tool_result": result}]
    body = {
        "task": "Count.",
        "start_time": "2026-03-01T10:00:00",
        "end_time": "2026-03-01T10:00:09",
        "provider": "anthropic",
        "model": "claude-4",
        "llm_interactions": [
            interaction(1, asked, tool_calls=[call], finish_reason="tool_use"),
            interaction(3, answered, content="None.", finish_reason="end_turn"),
        ],
        "agent_steps": [{"step_number": 1, "timestamp": "2026-03-01T10:00:02", "tool_results": [result]}],
        "success": True,
        "final_result": "None.",
    }
    ((run,), problems) = fixtures.detect_and_read("trae", orjson.dumps(body))
    first, second = fixtures.steps(run, StepType.MODEL)
    assert calls(run) == [("bash", "t1", "no shelf", StepStatus.ERROR)]
    assert (first.model, first.tokens_in, first.tokens_cached) == ("claude-4", 29, 20)
    assert first.attributes["response_model"] == "claude-4-1"
    assert fixtures.request_contents(second) == ["You count.", "Count.", None, "no shelf"]
    assert (run.judgements[0].name, run.steps[-1].output, problems) == ("success", {"text": "None."}, [])


def test_output_of_gemini_has_pieces_and_calls() -> None:
    def event(second: int, kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": f"2026-03-01T10:00:0{second}Z", **fields}

    events = [
        event(0, "init", session_id="g-1", model="gemini-2.5-pro"),
        event(0, "message", role="user", content="Is Dune in stock?"),
        event(1, "message", role="assistant", content="Let me ", delta=True),
        event(1, "message", role="assistant", content="look.", delta=True),
        event(2, "tool_use", tool_name="read", tool_id="t1", parameters={"path": "stock"}),
        event(2, "tool_use", tool_name="read", tool_id="t2", parameters={"path": "desk"}),
        event(3, "tool_result", tool_id="t1", status="success", output="3"),
        event(3, "tool_result", tool_id="t2", status="error", error={"type": "x", "message": "locked"}),
        event(4, "message", role="assistant", content="Yes.", delta=True),
        event(5, "result", status="success", stats={"input_tokens": 9, "output_tokens": 2, "cached": 4}),
    ]
    ((run,), problems) = fixtures.detect_and_read("gemini-stream", fixtures.json_lines(events))
    assert calls(run) == [("read", "t1", "3", StepStatus.OK), ("read", "t2", "locked", StepStatus.ERROR)]
    assert (fixtures.answer_contents(run), problems) == (["Let me look.", "Yes."], [])
    assert (run.external_id, run.steps[0].tokens_in, run.steps[0].tokens_cached) == ("g-1", 9, 4)
    (cut_off,), _ = fixtures.detect_and_read("gemini-stream", fixtures.json_lines(events[:-1]))
    assert cut_off.status is RunStatus.PARTIAL


def test_result_without_call_is_kept_beside_recorded_requests() -> None:
    """Its message is no part of the requests that follow, which the program recorded."""
    document: Any = fixtures.source("trae.json").value
    del document["llm_interactions"][0]["response"]["tool_calls"]
    (run,), _ = fixtures.detect_and_read("trae", orjson.dumps(document))
    assert run.steps[0].attributes["results_without_calls"] == [{"tool_call_id": "t1", "error": "no shelf"}]


def test_typed_arguments_of_zed_are_arguments() -> None:
    call = {"id": "c1", "name": "read_file", "input": {"type": "json", "value": {"path": "a.txt"}}}
    request = {"User": {"id": "u", "content": [{"Text": "Read it."}]}}
    messages: list[Any] = [request, {"Agent": {"content": [{"ToolUse": call}], "tool_results": {}}}]
    ((run,), _) = fixtures.detect_and_read("zed", fixtures.json_lines([{"version": "0.3.0", "messages": messages}]))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert tool.input == {"path": "a.txt"}


def test_threads_of_amp_with_other_roles_and_inside_an_object() -> None:
    thread = {
        "id": "T-1",
        "messages": [
            {"role": "human", "content": "Count them.", "created": 1_700_000_001_000},
            {"role": "agent", "content": [{"type": "text", "text": "Five."}], "created": 1_700_000_002_000},
        ],
    }
    for value in (thread, {"thread": thread}):
        ((run,), _) = fixtures.detect_and_read("amp", fixtures.json_lines([value]))
        assert (run.name, fixtures.answer_contents(run)) == ("Count them.", ["Five."])
        assert (run.ended_at is None, len(fixtures.steps(run, StepType.TURN))) == (False, 1)


def test_transcripts_of_cursor_are_runs() -> None:
    query = "<user_info>Linux</user_info>\n<user_query>\nCount them.\n</user_query>"
    call = {"type": "tool_use", "name": "Read", "input": {"path": "a.txt"}}
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": query}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "I look."}, call]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Five."}]}},
    ]
    ((run,), problems) = fixtures.detect_and_read("cursor", fixtures.json_lines(lines))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.name, tool.input, problems) == ("Count them.", {"path": "a.txt"}, [])
    assert fixtures.answer_contents(run) == ["I look.", "Five."]


def test_transcripts_of_cursor_have_the_ids_in_their_names() -> None:
    def transcript(name: str, request: str, *blocks: dict[str, Any]) -> Source:
        messages = [
            ("user", [{"type": "text", "text": f"<user_query>\n{request}\n</user_query>"}]),
            ("assistant", [*blocks]),
        ]
        lines = [{"role": role, "message": {"content": content}} for role, content in messages]
        return Source(name=name, data=fixtures.json_lines(lines))

    id = "0198c1de-0000-7000-8000-0123456789ab"
    calls = [{"type": "tool_use", "name": "Task", "input": {"prompt": task}} for task in ("Sort.", "Count.")]
    sources = [
        transcript(f"agent-transcripts/{id}/subagents/c.jsonl", "Count.", {"type": "text", "text": "Five."}),
        transcript(f"agent-transcripts/{id}/{id}.jsonl", "How many books?", *calls),
        transcript("agent-transcripts/other/other.jsonl", "Good morning.", {"type": "text", "text": "Hello."}),
    ]
    runs = list(registry.get_importer("cursor").runs(sources))
    run, _ = sorted(runs, key=lambda item: item.external_id != id)
    inner = fixtures.steps(run, StepType.AGENT)[1]
    caller = next(step for step in run.steps if step.key == inner.parent)
    assert (run.external_id, len(runs), inner.output) == (id, 2, {"text": "Five."})
    assert caller.input == {"prompt": "Count."}
    assert {key for source in sources[:2] for key in cursor.keys(source)} == {id}
