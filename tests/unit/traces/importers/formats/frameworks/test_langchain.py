"""LangChain messages; LangGraph states and checkpoints."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object, as_objects
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

HISTORY: Any = fixtures.source("langgraph_history.json").value
MESSAGES: Any = fixtures.source("langchain_messages.json").value


def read(value: Any, format: str) -> tuple[list[RecordedRun], list[str]]:
    source = Source(name="export", data=orjson.dumps(value))
    importer = registry.detect(fixtures.sample("export", source.data))
    assert importer.name == format
    return list(importer.runs([source])), [str(problem) for problem in source.problems]


def last_request_messages(run: RecordedRun) -> Any:
    request: Any = fixtures.steps(run, StepType.MODEL)[-1].input
    return request["messages"]


def test_all_serializations_give_same_steps() -> None:
    plain_run, dump_run = fixtures.run("langchain_messages.json"), fixtures.runs("langchain_dumps.jsonl")[0]
    assert plain_run.steps == dump_run.steps
    assert last_request_messages(plain_run) == [fixtures.SYSTEM, fixtures.REQUEST, fixtures.CALL, fixtures.RESULT]
    model = fixtures.steps(plain_run, StepType.MODEL)[0]
    assert (model.model, model.provider, model.tokens_in, model.tokens_cached) == ("gpt-4o-mini-2024", "openai", 42, 16)
    lines = [message["data"] for message in MESSAGES]
    source = Source(name="log.jsonl", data=fixtures.json_lines(lines))
    (log_run,) = registry.detect(fixtures.sample("log.jsonl", source.data)).runs([source])
    assert [step.output for step in log_run.steps] == [step.output for step in plain_run.steps]


def test_fetched_trace_has_feedback() -> None:
    feedback = {"id": "f1", "key": "helpful", "score": 0, "comment": "late", "run_id": "r"}
    trace = {"trace_id": "t1", "messages": MESSAGES, "metadata": {"status": "error"}, "feedback": [feedback]}
    ((run,), _) = read(trace, "langchain")
    assert (run.external_id, run.status) == ("t1", RunStatus.FAILED)
    assert [(mark.name, mark.value, mark.text, mark.step) for mark in run.judgements] == [("helpful", 0, "late", None)]


def test_failed_tool_message_is_an_error() -> None:
    run = fixtures.runs("langchain_dumps.jsonl")[1]
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, tool.status, tool.error) == ("lc-2", StepStatus.ERROR, "Error: the shelf is locked")


def test_other_members_of_messages_are_attributes() -> None:
    request = {"type": "human", "content": "Is Dune in stock?", "additional_kwargs": {"shelf": "7"}}
    facts = {"model_name": "gpt-4o", "finish_reason": "stop", "system_fingerprint": "fp_7", "logprobs": None}
    (run,), _ = read([request, {"type": "ai", "content": "Yes.", "response_metadata": facts}], "langchain")
    (turn,), (model,) = fixtures.steps(run, StepType.TURN), fixtures.steps(run, StepType.MODEL)
    assert (turn.attributes, model.attributes) == (
        {"additional_kwargs": {"shelf": "7"}},
        {"response_metadata": {"system_fingerprint": "fp_7"}},
    )


def test_calls_in_additional_fields_are_read() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "find_book", "arguments": '{"title": "Dune"}'}}
    old_message = {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": [call]}}}
    (run,), _ = read([MESSAGES[1], old_message, MESSAGES[3]], "langchain")
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output) == ({"title": "Dune"}, "3 copies")


def test_nodes_contain_their_messages() -> None:
    run = fixtures.run("langgraph_history.json")
    names = {step.key: step.name for step in run.steps}
    assert [(step.type.value, step.name, names.get(step.parent or "")) for step in run.steps] == [
        ("agent", "graph", None),
        ("turn", "Is Dune in stock?", "graph"),
        ("agent", "agent", "Is Dune in stock?"),
        ("model", "gpt-4o-mini-2024", "agent"),
        ("agent", "tools", "Is Dune in stock?"),
        ("tool", "find_book", "tools"),
        ("agent", "agent", "Is Dune in stock?"),
        ("model", "gpt-4o-mini-2024", "agent"),
        ("agent", "count", "Is Dune in stock?"),
        ("agent", "till", "Is Dune in stock?"),
        ("output", "output", "graph"),
    ]
    count, till = (step for step in run.steps if step.name in ("count", "till"))
    assert (count.input, count.output) == ({"visits": 1}, {"visits": 2})
    assert (till.status, till.error) == (StepStatus.ERROR, "RuntimeError('the till is stuck')")
    assert till.attributes["interrupts"] == [{"value": "open it?", "id": "i1"}]
    assert (run.external_id, run.status) == ("lg-1", RunStatus.FAILED)
    tool = fixtures.steps(run, StepType.TOOL)[0]
    assert [str(time)[17:19] for time in (tool.started_at, tool.ended_at)] == ["02", "03"]


def test_reused_call_id_matches_its_node() -> None:
    config = HISTORY[0]["config"]["configurable"]
    first_snapshots = list(reversed(HISTORY))[:5]
    messages = first_snapshots[-1]["values"]["messages"]
    repeated_messages = [{**message, "id": f"{message['id']}-2"} for message in messages]
    snapshots = [*first_snapshots]
    for number, nodes in enumerate([["agent"], ["tools"], ["agent"], []]):
        checkpoint_config = {"configurable": {**config, "checkpoint_id": f"1f0-{5 + number}"}}
        parent_config = snapshots[-1]["config"]
        tasks = [{"id": f"again-{number}", "name": name} for name in nodes]
        snapshots.append(
            {
                "values": {"messages": [*messages, *repeated_messages[: number + 1]]},
                "next": nodes,
                "config": checkpoint_config,
                "metadata": {"source": "loop", "step": 5 + number},
                "created_at": f"2026-10-01T10:00:1{number}Z",
                "parent_config": parent_config,
                "tasks": tasks,
            }
        )
    (run,), _ = read(snapshots, "langgraph")
    assert [step.parent for step in fixtures.steps(run, StepType.TOOL)] == ["task-2", "again-1"]
    assert [step.key for step in run.steps if "." not in step.key] == [
        *["agent", "msg-1", "task-1", "msg-2", "task-2", "task-3", "msg-4"],
        *["msg-5", "task-4", "again-0", "msg-6", "again-1", "again-2", "msg-8", "output"],
    ]


def test_snapshots_as_lists_are_read() -> None:
    names = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")
    tasks = ("id", "name", "path", "error", "interrupts", "state", "result")
    rows = [
        [
            [[task[name] for name in tasks] for task in snapshot["tasks"]] if name == "tasks" else snapshot[name]
            for name in names
        ]
        for snapshot in HISTORY
    ]
    assert read(rows, "langgraph")[0] == fixtures.runs("langgraph_history.json")


def test_thread_fork_is_separate_run() -> None:
    config = {"configurable": {"thread_id": "lg-1", "checkpoint_ns": "", "checkpoint_id": "2f0-4"}}
    reply = {**MESSAGES[4]["data"], "id": "run--a3", "content": "No, sold out."}
    values = {"messages": [*HISTORY[2]["values"]["messages"], reply]}
    fork = {
        **HISTORY[1],
        "config": config,
        "values": values,
        "created_at": "2026-10-01T09:00:00Z",
        "tasks": [],
        "next": [],
    }
    first, second = read([*HISTORY, fork], "langgraph")[0]
    assert (first.external_id, second.external_id) == ("lg-1", "lg-1/2f0-4")
    assert fixtures.steps(second, StepType.OUTPUT)[0].output == {"text": "No, sold out."}
    assert [step.key for step in second.steps if step.name == "tools"] == ["task-2"]


def test_state_without_history_is_transcript() -> None:
    run = fixtures.run("langgraph_state.json")
    assert (run.external_id, run.app, run.started_at) == ("lg-2", "shop", None)
    assert last_request_messages(run) == [fixtures.REQUEST, fixtures.CALL, fixtures.RESULT]


def test_checkpoints_and_threads_are_read() -> None:
    values = HISTORY[0]["values"]
    checkpoint = {"v": 4, "id": "1f0-9", "ts": "2026-10-01T10:00:04Z", "channel_values": values}
    config = {"configurable": {"thread_id": "lg-3", "checkpoint_ns": ""}}
    saved_checkpoint = {
        "config": config,
        "checkpoint": checkpoint,
        "metadata": {"source": "loop", "step": 3},
        "pending_writes": [],
    }
    thread = {"thread_id": "lg-3", "status": "idle", "metadata": {}, "values": values}
    for value in (saved_checkpoint, thread):
        (run,), _ = read(value, "langgraph")
        assert (run.external_id, len(fixtures.steps(run, StepType.MODEL))) == ("lg-3", 2)


def test_metadata_and_other_channels_of_a_thread_stay() -> None:
    messages = [{"type": "human", "id": "h", "content": "Is Dune in?"}, {"type": "ai", "id": "m", "content": "Yes."}]
    notes = [{"type": "ai", "id": "n", "content": "Look on shelf 7."}]
    snapshot = {
        "values": {"messages": messages, "notes": notes},
        "next": [],
        "config": {"configurable": {"thread_id": "lg-6", "checkpoint_id": "1"}},
        "metadata": {"source": "loop", "step": 1, "tenant": "acme", "user_id": "u7", "langgraph_version": "1.2"},
    }
    (run,), _ = read([snapshot], "langgraph")
    assert (run.metadata["tenant"], run.metadata["user_id"]) == ("acme", "u7")
    assert run.metadata["state"] == {"notes": notes}
    assert "langgraph_version" not in run.metadata


def test_subgraph_is_inside_the_node_that_ran_it() -> None:
    question = {"type": "human", "id": "h", "content": "Is Dune in?"}
    reply = {"type": "ai", "id": "m", "content": "Yes."}
    interrupt = {"value": "ask the clerk?"}

    def snapshot(namespace: str, step: int, messages: list[Any], **task: Any) -> dict[str, Any]:
        config = {"thread_id": "lg-5", "checkpoint_ns": namespace, "checkpoint_id": f"{namespace}{step}"}
        parent = {"configurable": {**config, "checkpoint_id": f"{namespace}{step - 1}"}} if step else None
        facts = {"metadata": {"step": step}, "next": [task["name"]] if task else [], "tasks": [task] if task else []}
        values = {"messages": messages, "shelf": step}
        return {"config": {"configurable": config}, "parent_config": parent, "values": values, **facts}

    outer = [
        snapshot("", 0, [question], id="t1", name="clerk", interrupts=[interrupt]),
        snapshot("", 1, [question, reply]),
    ]
    inner = [
        snapshot("clerk:t1", 0, [question], id="t2", name="look"),
        snapshot("clerk:t1", 1, [question, reply]),
    ]
    (run,), _ = read([*outer, *inner], "langgraph")
    names = {step.key: step.name for step in run.steps}
    assert [(step.type.value, names.get(step.parent or "")) for step in run.steps] == [
        ("agent", None),
        ("turn", "graph"),
        ("agent", "Is Dune in?"),
        ("agent", "clerk"),
        ("model", "look"),
        ("output", "graph"),
    ]
    assert run.steps[2].attributes["interrupts"] == [interrupt]
    assert fixtures.request_contents(run.steps[4]) == ["Is Dune in?"]


def test_thread_has_its_times_and_failure() -> None:
    times = {"created_at": "2026-10-01T10:00:00Z", "updated_at": "2026-10-01T11:00:00Z"}
    thread = {"thread_id": "lg-3", "status": "error", "error": "out of steps", "values": HISTORY[0]["values"], **times}
    (run,), _ = read([thread], "langgraph")
    assert [str(time)[11:16] for time in (run.started_at, run.ended_at)] == ["10:00", "11:00"]
    assert (run.status, run.metadata["error"]) == (RunStatus.FAILED, "out of steps")


def test_state_without_messages_shows_its_nodes() -> None:
    rows = [{**snapshot, "values": {"visits": number}} for number, snapshot in enumerate(reversed(HISTORY))]
    rows = [{**row, "tasks": [{**task, "result": None} for task in row["tasks"]]} for row in rows]
    (run,), _ = read(rows, "langgraph")
    assert [step.name for step in run.steps] == ["graph", "agent", "tools", "agent", "count", "till"]
    assert (run.steps[1].input, run.steps[1].output) == ({"visits": 1}, {"visits": 2})
    assert (run.steps[0].input, run.steps[0].output) == ({"visits": 0}, {"visits": 5})


def test_cycle_of_checkpoints_is_rejected() -> None:
    config = {"configurable": {"thread_id": "lg-1", "checkpoint_id": "1f0-1"}}
    cycle = {**HISTORY[0], "config": config, "parent_config": config}
    for snapshots in ([cycle], [cycle, HISTORY[3]]):
        with pytest.raises(BadFile, match="thread lg-1 form a cycle"):
            read(snapshots, "langgraph")


def test_thread_without_state_is_rejected() -> None:
    runs, problems = read({"thread_id": "lg-4", "status": "idle", "values": None}, "langgraph")
    assert runs == []
    assert problems == ["this recording has no steps (LangGraph state and checkpoints) (run lg-4)"]


def test_models_of_several_providers_keep_theirs() -> None:
    def answer(model: str) -> dict[str, Any]:
        return {"type": "ai", "content": "Yes.", "response_metadata": {"model_name": model}}

    messages = [{"type": "human", "content": "Is it here?"}, answer("claude-4"), answer("gpt-5")]
    ((run,), problems) = fixtures.detect_and_read("langchain", orjson.dumps(messages))
    assert [(step.model, step.provider) for step in fixtures.steps(run, StepType.MODEL)] == [
        ("claude-4", "anthropic"),
        ("gpt-5", "openai"),
    ]
    assert problems == []


def test_standard_blocks_of_version_1() -> None:
    thoughts = [
        {"type": "reasoning", "reasoning": "The shelf.", "id": "rs_1"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "The web."}], "encrypted_content": "gA"},
    ]
    search = {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"query": "Dune"}}
    found = {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": [{"url": "x"}]}
    text = {"type": "text", "text": "Three copies.", "annotations": [{"type": "citation", "url": "x"}]}
    messages = [
        {"type": "human", "data": {"type": "human", "content": "Is Dune in stock?"}},
        {"type": "ai", "data": {"type": "ai", "content": [*thoughts, search, found, text], "tool_calls": []}},
    ]
    (run,), _ = fixtures.detect_and_read("langchain", orjson.dumps(messages), "messages.json")
    (model,) = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    content = as_objects(as_object(as_object(model.output)["message"])["content"])
    assert content[:2] == [
        {"type": "thinking", "thinking": "The shelf.", "id": "rs_1"},
        {"type": "thinking", "thinking": "The web.", "encrypted_content": "gA"},
    ]
    assert content[-1] == {"type": "text", "text": "Three copies.", "citations": [{"type": "citation", "url": "x"}]}
    assert (tool.name, tool.input, tool.output, tool.status) == (
        "web_search",
        {"query": "Dune"},
        [{"url": "x"}],
        StepStatus.OK,
    )
