"""Logs of AG2's streams with their subagents, and results of its evaluations."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, RunStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.teams import ag2_streams

OUTER, INNER = "10005270-fa63-4de4-996b-dd5b85033910", "bd3069d1-338b-43fd-a0f7-67b5bf2a92ac"


def event(path: str, **data: Any) -> dict[str, Any]:
    return {"type": f"ag2.events.{path}", "data": {"created_at": 1_790_000_000.5, **data}}


def nested(path: str, **data: Any) -> dict[str, Any]:
    return {"__event__": f"ag2.events.{path}", **data}


def request(text: str) -> dict[str, Any]:
    return event("input_events.ModelRequest", parts=[nested("input_events.TextInput", metadata={}, content=text)])


def response(text: str | None, *calls: dict[str, Any], **facts: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 20.0, "completion_tokens": 5.0, "cache_read_input_tokens": 8.0, "thinking_tokens": None}
    return event(
        "types.ModelResponse",
        message=nested("types.ModelMessage", content=text, metadata={}) if text else None,
        tool_calls=nested("tool_events.ToolCallsEvent", calls=list(calls)),
        usage={"__dataclass__": "ag2.events.types.Usage", "data": usage},
        model="claude-sonnet-4",
        finish_reason="stop",
        files=[],
        **facts,
    )


def result(call: str, text: str, **error: Any) -> dict[str, Any]:
    parts = [nested("input_events.TextInput", metadata={}, content=text)]
    content = {"__dataclass__": "ag2.events.tool_events.ToolResult", "data": {"parts": parts, "final": False}}
    return {"parent_id": call, "name": "tool", "result": content, **error}


CALLS = [
    nested("tool_events.ToolCallEvent", id="c1", name="shelf", arguments='{"title": "Dune"}'),
    nested("tool_events.ToolCallEvent", id="c2", name="ask_clerk", arguments="{}"),
]
FAILURE = {"error": {"__exception__": "ValueError", "message": "no shelf"}}
STREAM = [
    request("Is Dune in stock?"),
    response("I look.", *CALLS, provider="anthropic"),
    event("tool_events.ToolCallEvent", id="c1", name="shelf", arguments="{}"),
    event("tool_events.ToolErrorEvent", **result("c1", "Traceback", **FAILURE)),
    event("task_events.TaskStarted", task_id="t1", agent_name="clerk", parent_tool_call_id="c2"),
    event("task_events.TaskCompleted", task_id="t1", agent_name="clerk", task_stream={"__uuid__": INNER}),
    event("tool_events.ToolResultsEvent", results=[result("c1", "Traceback", **FAILURE), result("c2", "No.")]),
    response("No.", provider="openai"),
]


def test_stream_has_results_and_subagents() -> None:
    files = {OUTER: STREAM, INNER: [request("Any Dune?"), response("No.")]}
    sources = [Source(name=f"log/{id}.jsonl", data=fixtures.json_lines(events)) for id, events in files.items()]
    (run,) = ag2_streams.parse(sources)
    assert ag2_streams.keys(sources[0]) == {OUTER, INNER}
    shelf, clerk = fixtures.steps(run, StepType.TOOL)
    agent = next(step for step in run.steps if step.parent == clerk.key)
    assert (run.external_id, shelf.input, shelf.error, clerk.output) == (
        OUTER,
        {"title": "Dune"},
        "ValueError: no shelf",
        "No.",
    )
    assert (agent.type, agent.name, agent.output) == (StepType.AGENT, "clerk", {"text": "No."})
    first, _, last = fixtures.steps(run, StepType.MODEL)
    assert [(step.tokens_in, step.tokens_cached, step.tokens_out) for step in (first, last)] == [(28, 8, 5), (20, 8, 5)]
    assert fixtures.request_contents(last)[-2:] == ["Traceback", "No."]


def test_task_of_an_evaluation_has_its_feedback() -> None:
    events = [{"type": row["type"].rpartition(".")[2], **row["data"]} for row in STREAM]
    feedback = [{"key": "correct", "score": True, "value": None, "comment": "as expected", "detail": None}]
    task = {"task_id": "stock", "inputs": {"input": "?"}, "events": events, "feedback": feedback}
    failed_task = {**task, "task_id": "till", "exception": {"type": "TimeoutError", "message": "late"}}
    result = {"run_id": "r1", "suite": {"name": "shop"}, "target": "shop.agent", "aggregates": {}}
    (run, failed_run), problems = fixtures.detect_and_read(
        "ag2", orjson.dumps({**result, "tasks": [task, failed_task]}), "run.json"
    )
    assert (run.external_id, len(fixtures.steps(run, StepType.TOOL)), problems) == ("r1/stock", 2, [])
    (verdict,) = run.judgements
    assert (verdict.name, verdict.kind, verdict.text) == ("correct", JudgementKind.PASS, "as expected")
    assert (failed_run.status, failed_run.steps[0].error) == (RunStatus.FAILED, "TimeoutError: late")
