"""Codex rollouts: token counts, compaction, resumed sessions, and damaged lines."""

from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.payloads.messages import ModelAnswer, ModelRequest

FORMAT = "codex"
SESSION_ID = "0198c1de-0000-7000-8000-0123456789ab"


def rollout(compaction: dict[str, Any]) -> list[dict[str, Any]]:
    """A rollout with two answers and a compaction between them."""

    def message(role: str, text: str) -> dict[str, Any]:
        return {"type": "response_item", "payload": {"type": "message", "role": role, "content": text}}

    def token_count(total: int) -> dict[str, Any]:
        usage = {"input_tokens": total, "output_tokens": 1}
        return {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": usage}}}

    return [
        {"type": "session_meta", "payload": {"id": "cx", "base_instructions": {"text": "You keep books."}}},
        message("user", "Count the red books."),
        message("assistant", "Three."),
        token_count(10),
        token_count(10),
        {"type": "compacted", "payload": compaction},
        token_count(25),
        message("user", "And the blue ones?"),
        message("assistant", "Five."),
        token_count(31),
    ]


def test_token_usage_is_difference_of_totals() -> None:
    run = fixtures.run("codex.jsonl")
    first, second = fixtures.steps(run, StepType.MODEL)
    assert (first.tokens_in, second.tokens_in, first.model) == (100, 150, "gpt-5.5")
    assert ModelRequest(first.input).messages == [fixtures.SYSTEM, fixtures.REQUEST]
    assert ModelAnswer(second.output).message == fixtures.ANSWER
    assert fixtures.steps(run, StepType.TOOL)[0].input == {"title": "Dune"}


@pytest.mark.parametrize(
    ("compaction", "history"),
    [
        ({"message": "three red books"}, ["Count the red books.", "three red books"]),
        (
            {
                "message": "",
                "replacement_history": [
                    {"type": "message", "role": "user", "content": "red: three"},
                    {"type": "compaction", "encrypted_content": "gAAAA"},
                    {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
                ],
            },
            ["red: three", None],
        ),
    ],
)
def test_compaction_replaces_history(compaction: dict[str, Any], history: list[str | None]) -> None:
    (run,) = fixtures.read(FORMAT, rollout(compaction))
    first, second = fixtures.steps(run, StepType.MODEL)
    assert fixtures.request_contents(first) == ["You keep books.", "Count the red books."]
    assert fixtures.request_contents(second) == ["You keep books.", *history, "And the blue ones?"]
    assert [step.tokens_in for step in (first, second)] == [25, 6], "the total includes the tokens of the summary"
    assert len(fixtures.steps(run, StepType.TURN)) == 2
    assert run.metadata["compactions"] == 1


def test_resumed_rollout_is_one_run() -> None:
    def at(seconds: int) -> str:
        return f"2026-03-01T10:00:{seconds:02}.000Z"

    def message(seconds: int, role: str, text: str) -> dict[str, Any]:
        content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
        payload = {"type": "message", "role": role, "content": content}
        return {"timestamp": at(seconds), "type": "response_item", "payload": payload}

    meta = {"timestamp": at(0), "type": "session_meta", "payload": {"id": "cx"}}
    repeated_meta = {**meta, "timestamp": at(30)}
    first_part = [meta, message(1, "user", "Count."), message(2, "assistant", "Two.")]
    second_part = [message(31, "user", "And now?"), message(32, "assistant", "Three.")]
    (run,) = fixtures.read(FORMAT, [*first_part, *second_part])
    file_orders = (
        ([repeated_meta, *second_part], first_part),
        (first_part, [repeated_meta, *first_part[1:], *second_part]),
    )
    for files in file_orders:
        (resumed_run,) = fixtures.read(FORMAT, *files)
        assert (resumed_run.external_id, fixtures.answer_contents(resumed_run)) == ("cx", ["Two.", "Three."])
        assert [step.input for step in resumed_run.steps] == [step.input for step in run.steps]
    other_session = [{**meta, "payload": {"id": "other"}}, *first_part[1:]]
    assert [result.external_id for result in fixtures.read(FORMAT, first_part, other_session)] == ["cx", "other"]


@pytest.mark.parametrize("damaged", [0, 1, 9])
def test_damaged_line_loses_no_answer(damaged: int) -> None:
    lines = fixtures.json_lines(rollout({"message": "three red books"})).split(b"\n")
    lines[damaged] = lines[damaged][:-9]
    name = f"rollout-2026-03-01T10-00-00-{SESSION_ID}.jsonl"
    (run,), (problem,) = fixtures.detect_and_read(FORMAT, b"\n".join(lines), name)
    assert f"line {damaged + 1}" in problem
    assert fixtures.answer_contents(run) == ["Three.", "Five."]
    assert run.external_id == ("cx" if damaged else SESSION_ID)


def test_lines_that_are_written_twice_count_once() -> None:
    untimed_lines = rollout({"message": "three red books"})
    lines = [{**line, "timestamp": f"2026-03-01T10:00:{place:02}Z"} for place, line in enumerate(untimed_lines)]
    assert fixtures.read(FORMAT, [line for line in lines for _ in range(2)]) == fixtures.read(FORMAT, lines)


def test_invalid_time_loses_no_answer() -> None:
    lines = rollout({"message": "three red books"})
    lines[1]["timestamp"] = "soon"
    (run,), (problem,) = fixtures.detect_and_read(FORMAT, fixtures.json_lines(lines))
    assert (fixtures.answer_contents(run), "line 2" in problem) == (["Three.", "Five."], True)


def item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def user(text: str) -> dict[str, Any]:
    return item(type="message", role="user", content=[{"type": "input_text", "text": text}])


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ('{"output": "denied", "metadata": {"exit_code": 2}}', "exit code 2"),
        ('{"output": "fine", "metadata": {"exit_code": 0}}', ""),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\ndenied", "exit code 1"),
        ("Chunk ID: a\nProcess exited with code 127\nOutput:\nno such file", "exit code 127"),
        ({"content": "user said no", "success": False}, "user said no"),
        ("3 copies", ""),
    ],
)
def test_failed_command_is_error(output: Any, error: str) -> None:
    call = item(type="function_call", name="shell", arguments="{}", call_id="c")
    result = item(type="function_call_output", call_id="c", output=output)
    (run,) = fixtures.read(FORMAT, [user("Count the books."), call, result])
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.error, tool.status) == (error, StepStatus.ERROR if error else StepStatus.OK)


def test_additions_are_no_requests() -> None:
    search = item(type="web_search_call", status="completed", action={"type": "search", "query": "books"})
    answer = item(type="message", role="assistant", content="Five.")
    lines = [user("<environment_context>\n<cwd>/shelf</cwd>"), user("Count the books."), search, answer]
    (run,) = fixtures.read(FORMAT, lines)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.input) == ("web_search", {"type": "search", "query": "books"})
    assert (run.name, len(fixtures.steps(run, StepType.TURN))) == ("Count the books.", 1)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert len(ModelRequest(model.input).messages) == 2


def test_error_at_end_fails_session() -> None:
    error = {"type": "event_msg", "payload": {"type": "error", "message": "stream disconnected"}}
    answer = item(type="message", role="assistant", content="Five.")
    (failed,) = fixtures.read(FORMAT, [user("Count them."), answer, error])
    assert (failed.status, failed.steps[0].error) == (RunStatus.FAILED, "stream disconnected")
    (retried,) = fixtures.read(FORMAT, [user("Count them."), error, answer])
    assert (retried.status, retried.metadata["notices"]) == (RunStatus.COMPLETED, [error["payload"]])


def test_output_of_exec_is_a_run() -> None:
    command = {
        "id": "i1",
        "type": "command_execution",
        "command": "ls",
        "aggregated_output": "",
        "status": "in_progress",
    }
    ended = {**command, "aggregated_output": "no shelf", "exit_code": 2, "status": "failed"}
    tool = {"id": "i2", "type": "mcp_tool_call", "server": "shop", "tool": "find", "arguments": {"title": "Dune"}}
    events = [
        {"type": "thread.started", "thread_id": "th-1"},
        {"type": "item.completed", "item": {"id": "i0", "type": "agent_message", "text": "I look."}},
        {"type": "item.started", "item": command},
        {"type": "item.completed", "item": ended},
        {"type": "item.completed", "item": {**tool, "result": {"copies": 3}, "error": None, "status": "completed"}},
        {"type": "turn.failed", "error": {"message": "too many requests"}},
    ]
    ((run,), problems) = fixtures.detect_and_read("codex-exec", fixtures.json_lines(events))
    tools = fixtures.steps(run, StepType.TOOL)
    assert [(step.tool_name, step.input, step.output, step.error) for step in tools] == [
        ("command_execution", {"command": "ls"}, "no shelf", "no shelf"),
        ("shop.find", {"title": "Dune"}, '{"copies":3}', ""),
    ]
    assert (run.external_id, run.status, fixtures.answer_contents(run)[0]) == ("th-1", RunStatus.FAILED, "I look.")
    assert problems == []


def test_events_of_calls_and_session() -> None:
    end = {"type": "exec_command_end", "call_id": "c1", "exit_code": 2, "duration": "1s"}
    events = [
        user("Count them."),
        item(type="function_call", name="shell", arguments='{"command": "ls"}', call_id="c1"),
        {"type": "event_msg", "payload": end},
        item(type="function_call_output", call_id="c1", output="no shelf"),
        {"type": "event_msg", "payload": {"type": "exited_review_mode", "review_output": {"findings": ["a typo"]}}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "Five."}},
        item(type="message", role="assistant", content="Five."),
        {"type": "compacted", "payload": {"message": "five books", "replacement_history": [user("Count.")["payload"]]}},
    ]
    (run,) = fixtures.read(FORMAT, events)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.error, tool.attributes) == ("exit code 2", {"duration": "1s", "exit_code": 2})
    assert run.metadata["notices"] == [{"type": "exited_review_mode", "review_output": {"findings": ["a typo"]}}]
    assert run.metadata["summaries"] == ["five books"]


BARE_ITEMS = [
    {
        "type": "message",
        "id": None,
        "role": "user",
        "content": [{"type": "input_text", "text": "Count the red books."}],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "The shelf first."}]},
    {"type": "function_call", "id": "fc_1", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "call_1"},
    {"type": "function_call_output", "call_id": "call_1", "output": '{"output": "", "metadata": {"exit_code": 2}}'},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "None.", "annotations": []}]},
]


@pytest.mark.parametrize("is_document", [False, True])
def test_rollouts_without_envelopes(is_document: bool) -> None:
    header = {"id": SESSION_ID, "timestamp": "2025-05-07T17:24:21.597Z", "instructions": "You keep books."}
    document = {"session": header, "items": BARE_ITEMS}
    lines = [document] if is_document else [header, {"record_type": "state"}, *BARE_ITEMS]
    (run,), problems = fixtures.detect_and_read(FORMAT, fixtures.json_lines(lines))
    assert problems == []
    first, second = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, str(run.started_at)) == (SESSION_ID, "2025-05-07 17:24:21.597000+00:00")
    assert ModelRequest(first.input).messages == [
        {"role": "system", "content": "You keep books."},
        {"role": "user", "content": "Count the red books."},
    ]
    assert (tool.call_id, tool.input, tool.error) == ("call_1", {"command": ["ls"]}, "exit code 2")
    assert ModelAnswer(second.output).message == {"role": "assistant", "content": "None."}


def test_encrypted_reasoning_is_kept_with_its_answer() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
    lines = [{"type": "response_item", "payload": reasoning}, *rollout({})[2:3]]
    (run,) = fixtures.read(FORMAT, [*rollout({})[:2], *lines])
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert model.attributes["continuation"] == [{"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAA"}]


def event(**payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": payload}


def test_events_stand_for_missing_items() -> None:
    lines = [
        {"type": "session_meta", "payload": {"id": "cx"}},
        event(type="user_message", message="Count the books.", images=["data:image/png;base64,AA"]),
        event(type="agent_reasoning", text="The shelf first."),
        event(type="exec_command_begin", call_id="c1", command=["ls"], cwd="/shelf"),
        event(type="exec_command_end", call_id="c1", stdout="", stderr="no shelf", exit_code=2),
        event(
            type="mcp_tool_call_end", call_id="c2", invocation={"server": "shop", "tool": "find", "arguments": {"n": 1}}
        ),
        event(type="agent_message", message="None."),
    ]
    (run,) = fixtures.read(FORMAT, lines)
    assert (run.name, run.steps[0].output) == ("Count the books.", {"text": "None."})
    tools = [(step.tool_name, step.input, step.output, step.error) for step in fixtures.steps(run, StepType.TOOL)]
    assert tools == [
        ("exec_command", {"command": ["ls"], "cwd": "/shelf"}, "no shelf", "exit code 2"),
        ("shop.find", {"n": 1}, "", ""),
    ]
    first = fixtures.steps(run, StepType.MODEL)[0]
    assert ModelAnswer(first.output).message["content"] == [{"type": "thinking", "thinking": "The shelf first."}]
    (request,) = fixtures.request_contents(first)
    assert [block["type"] for block in request] == ["text", "input_image"]


def test_output_of_exec_before_threads_is_a_rollout() -> None:
    lines = [
        {"workdir": "/shelf", "model": "gpt-5", "reasoning effort": "low"},
        {"prompt": "Count the books."},
        {"id": "0", "msg": event(type="task_started")["payload"]},
        {"id": "0", "msg": event(type="agent_message", message="Five.")["payload"]},
    ]
    ((run,), problems) = fixtures.detect_and_read(FORMAT, fixtures.json_lines(lines))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.name, model.model, fixtures.request_contents(model)) == ("Count the books.", "gpt-5", [run.name])
    assert (ModelRequest(model.input).parameters, problems) == ({"reasoning_effort": "low"}, [])


def test_request_beside_additions_in_one_item() -> None:
    blocks = [{"type": "input_text", "text": text} for text in ("<environment_context>/shelf", "Count the books.")]
    request = item(type="message", role="user", content=blocks)
    (run,) = fixtures.read(FORMAT, [request, item(type="message", role="assistant", content="Five.")])
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.name, len(fixtures.steps(run, StepType.TURN))) == ("Count the books.", 1)
    assert fixtures.request_contents(model) == ["<environment_context>/shelf", "Count the books."]


def test_subagent_is_inside_the_call_that_started_it() -> None:
    report = item(type="agent_message", content=[{"type": "input_text", "text": "Five."}])
    answer = item(type="message", role="assistant", content="There are five.")
    meta = {"session_id": "p", "id": "c", "parent_thread_id": "p", "agent_role": "counter", "agent_path": "/root/count"}
    child = [
        {"ordinal": 0, "type": "session_meta", "payload": {**meta, "subagent_history_start_ordinal": 2}},
        {"ordinal": 1, **user("Count them.")},
        {"ordinal": 2, **item(type="agent_message", content=[{"type": "input_text", "text": "Go."}])},
        {"ordinal": 3, **item(type="message", role="assistant", content="Five.")},
    ]
    end = {"type": "collab_agent_spawn_end", "call_id": "s1", "new_thread_id": "c"}
    activity = {"type": "sub_agent_activity", "event_id": "s1", "agent_thread_id": "c", "kind": "started"}
    completed = {"type": "SubAgentActivity", "id": "s1", "agent_thread_id": "c", "kind": "started"}
    for output, events in (
        ('{"agent_id": "c"}', []),
        ('{"task_name": "/root/count"}', []),
        ("started", [end]),
        ("started", [activity]),
        ("started", [{"type": "item_completed", "item": completed}]),
    ):
        calls = [
            item(type="function_call", call_id=id, name="spawn_agent", arguments=f'{{"task_name": "{id}"}}')
            for id in ("s0", "s1")
        ]
        result = item(type="function_call_output", call_id="s1", output=output)
        messages = [{"type": "event_msg", "payload": event} for event in events]
        start = {"type": "session_meta", "payload": {"session_id": "p", "id": "p"}}
        (run,) = fixtures.read(FORMAT, child, [start, user("Count them."), *calls, *messages, result, report, answer])
        outer, inner = fixtures.steps(run, StepType.AGENT)
        assert (run.external_id, run.name, outer.output) == ("p", "Count them.", {"text": "There are five."})
        caller = next(step for step in run.steps if step.key == inner.parent)
        assert (caller.call_id, inner.name, inner.attributes["agent_id"]) == ("s1", "counter", "c"), output
        models = fixtures.steps(run, StepType.MODEL)
        inner_model = next(step for step in models if fixtures.request_contents(step) == ["Count them.", "Go."])
        assert inner_model.key.startswith("agent-1/")
        assert len(fixtures.steps(run, StepType.TURN)) == 2
    (alone,) = fixtures.read(FORMAT, child)
    assert (alone.external_id, alone.name, alone.metadata["agent_role"]) == ("c", "Go.", "counter")


def test_subagents_in_subagents_and_circles_of_them() -> None:
    def thread(id: str, parent: str) -> list[Any]:
        spawn = {"subagent": {"thread_spawn": {"parent_thread_id": parent}}}
        answer = item(type="message", role="assistant", content=f"This is {id}.")
        return [{"type": "session_meta", "payload": {"id": id, "source": spawn}}, user(f"Who is {id}?"), answer]

    (run,) = fixtures.read(FORMAT, thread("b", "a"), thread("c", "b"), thread("a", ""))
    assert [(step.key, step.parent) for step in fixtures.steps(run, StepType.AGENT)] == [
        ("agent", None),
        ("agent-1/agent", "agent"),
        ("agent-1/agent-1/agent", "agent-1/agent"),
    ]
    circle = fixtures.read(FORMAT, thread("a", "b"), thread("b", "a"), thread("c", "c"))
    assert sorted(run.external_id for run in circle) == ["a", "b", "c"]


def test_subagent_before_numbers_copies_the_history_around_it() -> None:
    question, answer = user("Count them."), item(type="message", role="assistant", content="I ask a counter.")
    outer_meta = {"type": "session_meta", "payload": {"id": "p"}}
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}
    task, result = user("Count shelf 3."), item(type="message", role="assistant", content="Five.")
    child = [
        {"type": "session_meta", "payload": {"id": "c", "source": spawn}},
        outer_meta,
        question,
        answer,
        task,
        result,
    ]
    (run,) = fixtures.read(FORMAT, [outer_meta, question, answer], child)
    turns = [step.name for step in fixtures.steps(run, StepType.TURN)]
    assert turns == ["Count them.", "Count shelf 3."]
    assert fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[1]) == [
        "Count them.",
        "I ask a counter.",
        "Count shelf 3.",
    ]
