"""Streams of LangGraph, and events of LangChain."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.payloads.messages import ModelRequest

CALL: Any = {"name": "find", "args": {"title": "Dune"}, "id": "call_1", "type": "tool_call"}
REQUEST: Any = {"type": "human", "content": "Is Dune in stock?", "id": "h1"}
RESULT: Any = {"type": "tool", "content": "3 copies", "id": "t1", "tool_call_id": "call_1", "name": "find"}


def answer(id: str, content: str, *calls: Any) -> Any:
    usage = {"input_tokens": 20, "output_tokens": 4}
    facts = {"usage_metadata": usage, "response_metadata": {"model_name": "gpt-4o-mini", "finish_reason": "stop"}}
    return {"type": "ai", "content": content, "id": id, "tool_calls": list(calls), **facts}


ASK: Any = answer("a1", "", CALL)
ANSWER: Any = answer("a2", "3 left")
STATES: Any = [[REQUEST], [REQUEST, ASK], [REQUEST, ASK, RESULT], [REQUEST, ASK, RESULT, ANSWER]]
UPDATES: Any = [
    {"agent": {"messages": [ASK]}},
    {"tools": {"messages": [RESULT], "visits": 1}},
    {"agent": {"messages": ANSWER}},
]


def read(format: str, lines: list[Any]) -> tuple[RecordedRun, list[str]]:
    ((run,), problems) = fixtures.detect_and_read(format, fixtures.json_lines(lines))
    return run, problems


def checkpoint(step: int, messages: Any, *following: str) -> Any:
    payload = {
        "config": {"configurable": {"thread_id": "th-1", "checkpoint_ns": "", "checkpoint_id": f"cp-{step}"}},
        "values": {"messages": messages},
        "metadata": {"source": "loop", "step": step},
        "next": list(following),
        "tasks": [{"id": f"task-{step}", "name": name} for name in following],
    }
    return {"type": "checkpoint", "timestamp": f"2026-01-01T10:00:0{step}+00:00", "step": step, "payload": payload}


def nodes(run: RecordedRun) -> list[str]:
    return [step.name for step in fixtures.steps(run, StepType.AGENT)[1:]]


@pytest.mark.parametrize(
    "lines",
    [
        UPDATES,
        [["updates", update] for update in UPDATES],
        [{"event": "updates", "data": update} for update in UPDATES],
        [[[], "updates", update] for update in UPDATES],
        [UPDATES],
    ],
    ids=["alone", "pairs", "events", "subgraphs", "list"],
)
def test_updates_of_nodes_are_steps(lines: Any) -> None:
    run, problems = read("langgraph", lines)
    assert (nodes(run), fixtures.answer_contents(run), problems) == (["agent", "tools", "agent"], [None, "3 left"], [])
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, run.metadata["state"]) == ({"title": "Dune"}, "3 copies", {"visits": 1})


def test_states_of_a_stream_are_one_run() -> None:
    run, _ = read("langgraph", [{"messages": messages} for messages in STATES])
    assert fixtures.answer_contents(run) == [None, "3 left"]
    # With updates, the nodes are known.
    values = [["values", {"messages": messages}] for messages in STATES]
    chunks = [["updates", update] for update in UPDATES]
    lines = [values[0], chunks[0], values[1], chunks[1], values[2], chunks[2], values[3]]
    run, problems = read("langgraph", lines)
    assert (nodes(run), run.name, problems) == (["agent", "tools", "agent"], "Is Dune in stock?", [])


def test_conversations_of_a_data_set_stay_apart() -> None:
    rows = [{"messages": [{**REQUEST, "id": f"h{index}"}, answer(f"a{index}", "Yes.")]} for index in range(3)]
    runs, _ = fixtures.detect_and_read("langchain", fixtures.json_lines(rows))
    assert len(runs) == 3


def test_checkpoints_of_a_debug_stream_are_a_thread() -> None:
    failure = {"type": "task_result", "payload": {"id": "task-2", "name": "agent", "error": "no model", "result": []}}
    lines = [
        checkpoint(0, STATES[0], "agent"),
        {"type": "task", "payload": {"id": "task-0", "name": "agent", "input": {}}},
        checkpoint(1, STATES[1], "tools"),
        checkpoint(2, STATES[2], "agent"),
        failure,
    ]
    run, problems = read("langgraph", lines)
    assert (run.external_id, nodes(run), run.status, problems) == (
        "th-1",
        ["agent", "tools", "agent"],
        RunStatus.FAILED,
        [],
    )
    assert run.steps[-1].error == "no model"


def event(kind: str, run_id: str, parents: str, data: Any, **metadata: Any) -> Any:
    event = {"event": kind, "name": "find", "run_id": run_id, "parent_ids": parents.split(), "data": data}
    return {**event, "tags": [], "metadata": metadata}


def test_events_are_a_tree() -> None:
    settings = {"ls_model_name": "gpt-4o-mini", "ls_provider": "openai", "ls_temperature": 0.1}
    request = {"input": {"messages": [[REQUEST]]}}
    lines = [
        event("on_chain_start", "r0", "", {"input": {"messages": [REQUEST]}}, thread_id="th-1"),
        event("on_chain_start", "r1", "r0", {"input": {}}),
        event("on_chat_model_start", "r2", "r0 r1", request, **settings),
        event("on_chat_model_stream", "r2", "r0 r1", {"chunk": {"type": "AIMessageChunk", "content": ""}}),
        event("on_chat_model_end", "r2", "r0 r1", {"output": ASK, **request}),
        event("on_tool_start", "r3", "r0", {"input": {"title": "Dune"}}),
        event("on_tool_end", "r3", "r0", {"output": RESULT}),
        event("on_tool_error", "r4", "r0", {"input": {}, "error": "stuck"}),
        event("on_chain_end", "r0", "", {"output": {"messages": [ANSWER]}}),
    ]
    run, problems = read("langchain-events", lines)
    assert [(step.key, step.parent, step.type.value) for step in run.steps] == [
        ("r0", None, "agent"),
        ("r1", "r0", "agent"),
        ("r2", "r1", "model"),
        ("r3", "r0", "tool"),
        ("r4", "r0", "tool"),
    ]
    model, tool, failed_tool = run.steps[2:]
    assert (model.model, model.tokens_in, ModelRequest(model.input).parameters) == (
        "gpt-4o-mini",
        20,
        {"temperature": 0.1},
    )
    assert (tool.output, tool.call_id, failed_tool.status) == ("3 copies", "call_1", StepStatus.ERROR)
    assert (run.metadata["session_id"], run.name, problems) == ("th-1", "Is Dune in stock?", [])


def test_first_version_of_events_has_generations() -> None:
    generations = {"generations": [[{"text": "3 left", "message": ANSWER}]], "llm_output": None}
    lines = [
        event("on_chain_start", "q0", "", {"input": "Is Dune in stock?"}),
        event("on_chat_model_end", "q1", "", {"input": {"messages": [[REQUEST]]}, "output": generations}),
        event("on_chain_end", "q0", "", {"output": "3 left"}),
    ]
    for line in lines:
        del line["parent_ids"]
    run, _ = read("langchain-events", lines)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.parent, as_object(model.output)["finish_reason"]) == ("gpt-4o-mini", "q0", "stop")


def test_events_of_programs_are_kept_with_their_run() -> None:
    lines = [
        event("on_tool_start", "r1", "", {"input": {}}),
        event("on_custom_event", "r1", "", {"progress": 0.5}),
        event("on_tool_end", "r1", "", {"output": "3 copies"}),
    ]
    run, _ = read("langchain-events", lines)
    assert run.steps[0].attributes["events"] == [{"name": "find", "data": {"progress": 0.5}}]


def test_events_of_the_platform_are_chunks() -> None:
    stream = [
        ("metadata", {"run_id": "r-1"}),
        *(("updates", update) for update in UPDATES[:2]),
        ("updates", {"agent": {"messages": [{"type": "remove", "content": "", "id": "h1"}, ANSWER]}}),
        ("messages/partial", [ANSWER]),
        ("error", {"error": "ValueError", "message": "no shelf"}),
    ]
    data = b"".join(b"event: %b\r\ndata: %b\r\n\r\n" % (mode.encode(), orjson.dumps(item)) for mode, item in stream)
    ((run,), problems) = fixtures.detect_and_read("langgraph", data, "stream.txt")
    assert (run.external_id, run.status, nodes(run), problems) == (
        "r-1",
        RunStatus.FAILED,
        ["agent", "tools", "agent", "run"],
        [],
    )
    assert [step.error for step in run.steps if step.name == "run"] == ["ValueError: no shelf"]
