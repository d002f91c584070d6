"""Messages of `codex app-server`, of both of its protocols."""

from datetime import UTC, datetime
from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus, StepType

FORMAT = "codex-app-server"


def event(method: str, thread: str = "t1", **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": thread, **params}}


def done(item: dict[str, Any], thread: str = "t1", **params: Any) -> dict[str, Any]:
    return event("item/completed", thread, item=item, **params)


def usage(total: int, tokens: int) -> dict[str, Any]:
    counts = {"inputTokens": tokens, "cachedInputTokens": 40, "outputTokens": 7, "totalTokens": tokens + 7}
    return event("thread/tokenUsage/updated", tokenUsage={"total": {"totalTokens": total}, "last": counts})


REQUEST = {"type": "userMessage", "id": "u1", "content": [{"type": "text", "text": "How many copies?"}]}
START = {"id": 1, "result": {"thread": {"id": "t1", "modelProvider": "openai"}, "model": "gpt-5.5", "cwd": "/shop"}}


def test_items_become_steps_with_tokens_times_and_failures() -> None:
    command = {"type": "commandExecution", "id": "c1", "command": "cat stock", "status": "inProgress"}
    result = {"status": "failed", "aggregatedOutput": "no file", "exitCode": 1, "durationMs": 12}
    lines = [
        START,
        done(REQUEST),
        done({"type": "reasoning", "id": "r1", "summary": ["I look."], "content": []}),
        event("item/started", item=command, startedAtMs=1_764_000_001_000),
        usage(107, 100),
        usage(107, 100),
        done({**command, **result}, completedAtMs=1_764_000_002_000),
        event("item/agentMessage/delta", itemId="a1", delta="Unknown."),
        done({"type": "agentMessage", "id": "a1", "text": "Unknown."}),
        usage(217, 103),
        done({"type": "contextCompaction", "id": "x1"}),
        event("turn/completed", turn={"id": "n1", "status": "completed"}),
    ]
    ((run,), problems) = fixtures.detect_and_read(FORMAT, fixtures.json_lines(lines))
    first, second = fixtures.steps(run, StepType.MODEL)
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.name, run.status, problems) == ("t1", "How many copies?", RunStatus.COMPLETED, [])
    assert (first.model, first.tokens_in, first.tokens_cached, second.tokens_in) == ("gpt-5.5", 100, 40, 103)
    assert fixtures.answer_contents(run) == [[{"type": "thinking", "thinking": "I look."}], "Unknown."]
    assert (call.input, call.output, call.status) == ({"command": "cat stock"}, "no file", StepStatus.ERROR)
    assert (call.started_at, call.ended_at) == (
        datetime(2025, 11, 24, 16, 0, 1, tzinfo=UTC),
        datetime(2025, 11, 24, 16, 0, 2, tzinfo=UTC),
    )
    assert call.attributes == {"exit_code": 1, "duration_ms": 12}
    assert run.metadata["notes"] == [{"type": "contextCompaction", "id": "x1"}]


def test_threads_of_subagents_are_inside_their_calls() -> None:
    spawn = {"type": "collabAgentToolCall", "id": "s1", "tool": "spawnAgent", "status": "completed"}
    spawn_result = {
        **spawn,
        "prompt": "Count.",
        "receiverThreadIds": ["t2"],
        "agentsStates": {"t2": {"status": "running"}},
    }
    source = {"subAgent": {"thread_spawn": {"parent_thread_id": "t1", "agent_nickname": "Ann"}}}
    lines = [
        START,
        done(REQUEST),
        done(spawn_result),
        {"method": "thread/started", "params": {"thread": {"id": "t2", "source": source}}},
        done({"type": "agentMessage", "id": "a2", "text": "Three."}, "t2"),
        done({"type": "agentMessage", "id": "a1", "text": "There are three."}),
        event("turn/completed", turn={"status": "failed", "error": {"message": "quota"}}),
    ]
    ((run,), problems) = fixtures.detect_and_read(FORMAT, fixtures.json_lines(lines))
    agent, subagent = fixtures.steps(run, StepType.AGENT)
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert (run.status, run.metadata["error"], problems) == (RunStatus.FAILED, "quota", [])
    assert (agent.output, subagent.output) == ({"text": "There are three."}, {"text": "Three."})
    assert (subagent.parent, call.name) == (call.key, "spawnAgent")


def test_stored_thread_has_its_items_in_turns() -> None:
    items = [REQUEST, {"type": "agentMessage", "id": "a1", "text": "Three."}]
    thread = {"id": "t1", "name": "Stock", "createdAt": 1_764_000_000, "turns": [{"id": "n1", "items": items}]}
    ((run,), problems) = fixtures.detect_and_read(
        FORMAT, fixtures.json_lines([{"id": 3, "result": {"thread": thread}}])
    )
    assert (run.name, fixtures.answer_contents(run), problems) == ("Stock", ["Three."], [])


def test_notifications_of_the_first_protocol_are_events() -> None:
    events: list[dict[str, Any]] = [
        {"type": "user_message", "message": "How many copies?"},
        {"type": "exec_command_begin", "call_id": "c1", "command": ["cat", "stock"]},
        {"type": "exec_command_end", "call_id": "c1", "aggregated_output": "Dune 3", "exit_code": 0},
        {"type": "agent_message", "message": "Three."},
    ]
    lines = [
        {"method": f"codex/event/{body['type']}", "params": {"id": "0", "msg": body, "conversationId": "v1"}}
        for body in events
    ]
    ((run,), problems) = fixtures.detect_and_read("codex", fixtures.json_lines(lines))
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.name, call.output, problems) == ("v1", "How many copies?", "Dune 3", [])
