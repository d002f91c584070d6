"""Sessions of Grok and Kiro, output of Droid, and messages of the Agent Client Protocol."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

HISTORY: list[Any] = [
    {"type": "system", "content": "You keep a shop."},
    {"type": "user", "content": [{"type": "text", "text": "OS: linux"}], "synthetic_reason": "environment_context"},
    {"type": "user", "content": [{"type": "text", "text": "How many copies?"}], "prompt_index": 0},
    {
        "type": "reasoning",
        "id": "rs1",
        "summary": [{"type": "summary_text", "text": "I look."}],
        "encrypted_content": "x",
    },
    {
        "type": "assistant",
        "content": "Looking.",
        "tool_calls": [{"id": "c1", "name": "read_file", "arguments": '{"target_file": "stock"}'}],
        "model_id": "grok-4.5",
        "reasoning_effort": "high",
    },
    {"type": "tool_result", "tool_call_id": "c1", "content": "Dune: 3"},
    {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "action": {"query": "Dune"}, "id": "ws1"}},
    {"type": "assistant", "content": "Three copies.", "model_id": "grok-4.5"},
]


def update(name: str, /, time: int = 1_787_360_350, **members: Any) -> dict[str, Any]:
    changes = {"sessionUpdate": name, **members}
    return {"timestamp": time, "method": "session/update", "params": {"sessionId": "s1", "update": changes}}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def read(format: str, **files: bytes) -> tuple[list[RecordedRun], list[str]]:
    """Read files together; the first underscore of a name is its slash, and the last one its dot."""
    sources = [
        Source(name=name.replace("__", "/").replace("_json", ".json"), data=data) for name, data in files.items()
    ]
    runs = list(registry.get_importer(format).runs(sources))
    return runs, [str(problem) for source in sources for problem in source.problems]


def test_grok_history_has_thoughts_calls_and_searches() -> None:
    ((run,), problems) = fixtures.detect_and_read("grok", fixtures.json_lines(HISTORY))
    first, second = fixtures.steps(run, StepType.MODEL)
    call, search = fixtures.steps(run, StepType.TOOL)
    assert problems == []
    assert fixtures.request_contents(first) == ["You keep a shop.", "OS: linux", "How many copies?"]
    assert fixtures.answer_contents(run)[0] == [{"type": "thinking", "thinking": "I look."}, text("Looking.")]
    assert (first.model, first.provider, second.output) == (
        "grok-4.5",
        "xai",
        {"message": {"role": "assistant", "content": "Three copies."}},
    )
    assert (call.input, call.output) == ({"target_file": "stock"}, "Dune: 3")
    assert (search.name, search.input, search.links) == ("web_search", {"query": "Dune"}, (second.key,))


def test_grok_folder_is_one_run_with_its_usage_and_title() -> None:
    usage = {"inputTokens": 1000, "outputTokens": 90, "cachedReadTokens": 700, "costUsdTicks": 250_000_000}
    updates = [
        update("user_message_chunk", content=text("How many copies?")),
        update("turn_completed", 1_787_360_359, stop_reason="end_turn", usage=usage),
    ]
    summary = {"info": {"id": "g1", "cwd": "/shop"}, "generated_title": "Copies", "current_model_id": "grok-4.5"}
    (run,), problems = read(
        "grok",
        g1__chat_history_jsonl=fixtures.json_lines(HISTORY),
        g1__updates_jsonl=fixtures.json_lines(updates),
        g1__summary_json=orjson.dumps(summary),
    )
    agent = run.steps[0]
    assert (run.external_id, run.name, problems) == ("g1", "Copies", [])
    assert (agent.tokens_in, agent.tokens_out, agent.tokens_cached) == (1000, 90, 700)
    assert agent.cost_usd == Decimal("0.025")
    assert run.started_at is not None
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).seconds == 9
    nothing, problems = read("grok", g1__summary_json=orjson.dumps(summary))
    assert nothing == []
    assert "only facts about a session" in problems[0]


def test_client_protocol_joins_pieces_and_merges_updates_of_calls() -> None:
    block = {"type": "content", "content": text("no stock")}
    lines = [
        {"id": 2, "method": "session/prompt", "params": {"sessionId": "s1", "prompt": [text("How many copies?")]}},
        update("user_message_chunk", content=text("How many copies?")),
        update("agent_thought_chunk", content=text("I ")),
        update("agent_thought_chunk", content=text("look.")),
        update("tool_call", toolCallId="c1", title="cat stock", kind="execute", status="pending"),
        update("tool_call_update", toolCallId="c1", rawInput={"command": "cat stock"}, status="in_progress"),
        update("tool_call_update", toolCallId="c1", status="failed", content=[block], rawOutput={"code": 1}),
        update("tool_call", toolCallId="c2", title="list_dir", status="pending", rawInput={}),
        update("agent_message_chunk", content=text("None ")),
        update("agent_message_chunk", content=text("left.")),
        {"id": 2, "result": {"stopReason": "end_turn", "usage": {"inputTokens": 9, "outputTokens": 4}}},
    ]
    ((run,), problems) = fixtures.detect_and_read("grok", fixtures.json_lines(lines))
    failed, pending = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.app, problems) == ("s1", "agent", [])
    assert [step.name for step in fixtures.steps(run, StepType.TURN)] == ["How many copies?"]
    assert fixtures.answer_contents(run) == [[{"type": "thinking", "thinking": "I look."}], None, "None left."]
    assert (failed.name, failed.input, failed.error) == ("execute", {"command": "cat stock"}, "no stock")
    assert failed.attributes == {"title": "cat stock", "kind": "execute", "rawOutput": {"code": 1}}
    assert (pending.name, pending.status) == ("list_dir", StepStatus.PARTIAL)
    assert (run.steps[0].tokens_in, run.steps[0].tokens_out) == (9, 4)


def test_droid_output_is_no_session_of_claude_code() -> None:
    lines: list[Any] = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": "d1",
            "cwd": "/shop",
            "model": "claude-x",
            "tools": ["Read"],
        },
        {"type": "message", "role": "user", "id": "m1", "text": "How many copies?", "session_id": "d1"},
        *2 * [{"type": "reasoning", "id": "r1", "text": "I look.", "session_id": "d1"}],
        {"type": "tool_call", "id": "c1", "messageId": "m2", "toolId": "Read", "parameters": {"file_path": "stock"}},
        {"type": "tool_result", "id": "c1", "messageId": "m3", "toolId": "Read", "isError": True, "value": "no file"},
        {"type": "message", "role": "assistant", "id": "m4", "text": "Unknown.", "session_id": "d1"},
    ]
    end = {"type": "completion", "finalText": "Unknown.", "numTurns": 2, "session_id": "d1"}
    usage = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 50}
    data = fixtures.json_lines([*lines, {**end, "usage": usage}])
    ((run,), problems) = fixtures.detect_and_read("droid-output", data)
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.app, run.status, problems) == ("d1", "droid", RunStatus.COMPLETED, [])
    assert fixtures.answer_contents(run) == [[{"type": "thinking", "thinking": "I look."}], "Unknown."]
    assert (call.name, call.input, call.error) == ("Read", {"file_path": "stock"}, "no file")
    assert (run.steps[0].tokens_in, run.steps[0].tokens_cached) == (150, 50)
    ((cut_off,), _) = fixtures.detect_and_read("droid-output", fixtures.json_lines(lines))
    assert cut_off.status is RunStatus.PARTIAL
    ((answer,), _) = fixtures.detect_and_read("droid-output", fixtures.json_lines([lines[-1]]))
    assert fixtures.answer_contents(answer) == ["Unknown."], "an answer alone is no greeting"


def test_kiro_session_has_the_facts_of_the_file_beside_it() -> None:
    def block(kind: str, data: Any) -> dict[str, Any]:
        return {"kind": kind, "data": data}

    def record(kind: str, *blocks: Any, **members: Any) -> dict[str, Any]:
        return {"version": "v1", "kind": kind, "data": {"content": [*blocks], **members}}

    call = {"toolUseId": "c1", "name": "execute_bash", "input": {"command": "cat stock"}}
    result = {"toolUseId": "c1", "status": "error", "content": [block("json", {"stderr": "no file"})]}
    lines = [
        record("Prompt", block("text", "How many copies?"), meta={"timestamp": 1_785_939_877}),
        record("AssistantMessage", block("thinking", {"text": "I look."}), block("toolUse", call), message_id="m2"),
        record("ToolResults", block("toolResult", result)),
        record("AssistantMessage", block("text", "Unknown.")),
        {"version": "v1", "kind": "Compaction", "data": {"summary": "Nothing known."}},
    ]
    turns = [{"input_token_count": 900, "output_token_count": 40}, {"input_token_count": 0, "output_token_count": 0}]
    state = {
        "conversation_metadata": {"user_turn_metadatas": turns},
        "rts_model_state": {"model_info": {"model_id": "claude-x"}},
    }
    facts = {"session_id": "k1", "cwd": "/shop", "title": "Copies", "session_state": state}
    (run,), problems = read("kiro", cli__k1_jsonl=fixtures.json_lines(lines), cli__k1_json=orjson.dumps(facts))
    (step,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.name, problems) == ("k1", "Copies", [])
    assert (run.steps[0].tokens_in, run.steps[0].tokens_out, run.steps[0].tokens_cached) == (900, 40, None)
    assert [model.model for model in fixtures.steps(run, StepType.MODEL)] == ["claude-x", "claude-x"]
    assert fixtures.answer_contents(run) == [[{"type": "thinking", "thinking": "I look."}], "Unknown."]
    assert (step.input, step.status) == ({"command": "cat stock"}, StepStatus.ERROR)
    assert run.metadata["events"] == [lines[-1]]
    assert fixtures.detect_and_read("kiro", fixtures.json_lines(lines))[1] == []
    assert "only facts about a session" in fixtures.detect_and_read("kiro", orjson.dumps(facts), "k1.json")[1][0]


def test_bad_line_of_grok_is_reported_once() -> None:
    data = fixtures.source("grok_history.jsonl").data
    assert fixtures.detect_and_read("grok", data + b"7\n")[1] == ["expected an object, got a number (line 9)"]
