"""OpenHands sessions: actions and observations of the server, typed events of the SDK."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import openhands
from traces.payloads.messages import ModelRequest

EVENTS: Any = fixtures.source("openhands_events.json").value


def read(*files: tuple[str, Any]) -> list[RecordedRun]:
    sources = [Source(name=name, data=orjson.dumps(content)) for name, content in files]
    for source in sources:
        assert registry.detect(fixtures.sample(source.name, source.data)).name == "openhands"
    return list(registry.get_importer("openhands").runs(sources))


def request_contents(step: RecordedStep) -> list[Any]:
    return [message["content"] for message in ModelRequest(step.input).messages if isinstance(message, dict)]


def test_actions_of_one_response_are_one_answer() -> None:
    run = fixtures.run("openhands_events.json")
    first, last = fixtures.steps(run, StepType.MODEL)
    tools = fixtures.steps(run, StepType.TOOL)
    assert [(step.call_id, step.status, step.output) for step in tools] == [
        ("call_1", StepStatus.ERROR, "no shelf"),
        ("call_2", StepStatus.OK, "three books"),
        ("call_3", StepStatus.PARTIAL, None),
    ]
    assert (first.tokens_in, first.cost_usd, last.cost_usd) == (80, Decimal("0.01"), Decimal("0.005"))
    assert (run.steps[-1].output, run.metadata["agent_state"]) == ({"text": "Three books."}, "finished")
    assert first.provider == "anthropic"


def test_events_in_files_are_one_run() -> None:
    files = [(f"sessions/s1/events/{event['id']}.json", event) for event in reversed(EVENTS)]
    (run,) = read(*files)
    list_run = fixtures.run("openhands_events.json")
    assert [(step.key, step.output) for step in run.steps] == [(step.key, step.output) for step in list_run.steps]
    assert run.external_id == list_run.external_id


def test_folders_of_events_are_runs() -> None:
    other_events = [{**event, "timestamp": f"2026-03-02T10:00:{event['id']:02}"} for event in EVENTS]
    folders = {"a": EVENTS, "b": other_events}
    files = [(f"{name}/{event['id']}.json", event) for name, events in folders.items() for event in events]
    assert len({run.external_id for run in read(*files)}) == 2


def test_only_single_event_files_are_grouped() -> None:
    event, event_list = (orjson.dumps(value) for value in (EVENTS[1], EVENTS))
    sources = [
        Source(name=name, data=data) for name, data in (("a/1.json", event), ("a/2.json", event), ("a/x", event_list))
    ]
    assert [openhands.keys(source) for source in sources] == [{"folder a"}, {"folder a"}, {"file a/x"}]


def test_evaluation_rows_have_verdict_and_cost() -> None:
    run = fixtures.run("openhands_output.jsonl")
    (denied_tool, _) = fixtures.steps(run, StepType.TOOL)
    assert (denied_tool.tool_name, denied_tool.status, denied_tool.input) == (
        "run",
        StepStatus.DENIED,
        {"command": "rm shelf"},
    )
    assert (run.judgements[0].name, run.judgements[0].kind) == ("resolved", JudgementKind.FAIL)
    assert (run.steps[0].cost_usd, fixtures.steps(run, StepType.MODEL)[0].model) == (Decimal("0.02"), "openai/gpt-4o")


def test_sdk_condensation_replaces_events() -> None:
    run = fixtures.run("openhands_sdk.jsonl")
    first, last = fixtures.steps(run, StepType.MODEL)
    assert request_contents(last) == ["You have a shell.", "Count the books.", "Three books were seen."]
    assert (first.model, first.provider, run.metadata["condensations"]) == (
        "anthropic/claude-sonnet-4",
        "anthropic",
        1,
    )
    success, denied_tool, _ = fixtures.steps(run, StepType.TOOL)
    assert (success.output, denied_tool.status, denied_tool.output) == ("three books", StepStatus.DENIED, "keep it")
    assert run.steps[-1].output == {"text": "Three books."}


def test_server_condensation_drops_event_range() -> None:
    condensed = {
        "id": 7,
        "source": "agent",
        "timestamp": "2026-03-01T10:00:07",
        "action": "condensation",
        "args": {
            "forgotten_events_start_id": 3,
            "forgotten_events_end_id": 6,
            "summary": "In short.",
            "summary_offset": 2,
        },
    }
    answer = {
        "id": 8,
        "source": "agent",
        "timestamp": "2026-03-01T10:00:08",
        "action": "message",
        "args": {"content": "Three."},
    }
    (run,) = read(("x", [*EVENTS[:7], condensed, answer]))
    assert request_contents(fixtures.steps(run, StepType.MODEL)[-1]) == [
        "You have a shell.",
        "Count the books.",
        "In short.",
    ]


def test_session_with_error_state_is_failed() -> None:
    state = {
        "id": 9,
        "source": "environment",
        "observation": "agent_state_changed",
        "content": "",
        "extras": {"agent_state": "error", "reason": "no budget"},
    }
    (run,) = read(("x", [*EVENTS[:4], state]))
    assert (run.status, run.metadata["reason"]) == (RunStatus.FAILED, "no budget")


def test_error_event_fails_its_call() -> None:
    call = {
        "kind": "ActionEvent",
        "id": "a",
        "source": "agent",
        "tool_name": "terminal",
        "tool_call_id": "c",
        "action": {"kind": "TerminalAction", "command": "ls"},
        "thought": [],
        "llm_response_id": "r",
    }
    error = {"kind": "AgentErrorEvent", "id": "b", "source": "agent", "tool_call_id": "c", "error": "no such tool"}
    (run,) = read(("x", {"trajectory": [call, error]}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.error) == ({"command": "ls"}, "no such tool")


def test_bad_file_leaves_others_intact() -> None:
    bad = Source(name="bad.json", data=orjson.dumps({"events": "none"}))
    good = Source(name="good.json", data=orjson.dumps(EVENTS))
    assert len(list(registry.get_importer("openhands").runs([bad, good]))) == 1
    assert [problem.problem for problem in bad.problems] == ["an event or a list of events was expected"]


def test_evaluation_row_that_failed_before_any_event_is_a_run() -> None:
    failed_row = {"instance_id": "shop-9", "test_result": {}, "history": [], "error": "runtime timed out"}
    rows = [failed_row, {"instance_id": "shop-8", "test_result": {}, "history": EVENTS, "error": None}]
    failed, completed = read(("output.json", rows))
    assert (failed.status, failed.steps[0].error, failed.tags) == (
        RunStatus.FAILED,
        "runtime timed out",
        ("task:shop-9",),
    )
    assert len(completed.steps) > 1


def _shell_call(number: int, call_id: str) -> Any:
    """An action whose model response has one call of the shell."""
    call = {"id": call_id, "type": "function", "function": {"name": "execute_bash", "arguments": '{"command":"ls"}'}}
    response = {"id": f"r-{number}", "choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
    metadata = {"function_name": "execute_bash", "tool_call_id": call_id, "model_response": response}
    action = {"action": "run", "args": {"command": "ls"}, "tool_call_metadata": metadata}
    return {"id": number, "source": "agent", **action}


def _shell_result(number: int, cause: int, code: int) -> Any:
    """An observation that names its action only by `cause`."""
    extras = {"command": "ls", "metadata": {"exit_code": code}}
    return {
        "id": number,
        "source": "agent",
        "cause": cause,
        "observation": "run",
        "content": f"code {code}",
        "extras": extras,
    }


def test_observation_with_only_its_cause_answers_the_call() -> None:
    request = {"id": 0, "source": "user", "action": "message", "args": {"content": "Which shelves are there?"}}
    calls = [_shell_call(1, "call_a"), _shell_result(2, 1, 2), _shell_call(3, "call_b"), _shell_result(4, 3, 0)]
    (run,) = read(("events.json", [request, *calls]))
    failed, succeeded = fixtures.steps(run, StepType.TOOL)
    assert (failed.status, failed.output, failed.error) == (StepStatus.ERROR, "code 2", "exit code 2")
    assert (succeeded.status, succeeded.output) == (StepStatus.OK, "code 0")
    (_, second) = fixtures.steps(run, StepType.MODEL)
    assert ModelRequest(second.input).messages[-1] == {"role": "tool", "content": "code 2", "tool_call_id": "call_a"}


def test_sdk_result_with_only_its_action_answers_the_call() -> None:
    events = [
        {
            "kind": "ActionEvent",
            "id": "e-1",
            "source": "agent",
            "tool_name": "terminal",
            "tool_call_id": "call_a",
            "action": {"command": "ls"},
        },
        {
            "kind": "ObservationEvent",
            "id": "e-2",
            "source": "environment",
            "action_id": "e-1",
            "observation": {"content": [{"type": "text", "text": "shelf"}]},
        },
    ]
    (run,) = read(("events.json", events))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.status, tool.output) == (StepStatus.OK, "shelf")


def test_sdk_statistics_have_tokens_of_answers() -> None:
    def event(kind: str, source: str, **fields: Any) -> dict[str, Any]:
        return {"kind": kind, "id": f"{kind}-{source}", "source": source, **fields}

    def message(text: str) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": text}]}

    usage = {"model": "openai/gpt-4o", "prompt_tokens": 42, "completion_tokens": 9, "cache_read_tokens": 16}
    metrics = {"accumulated_cost": 0.5, "token_usages": [{**usage, "response_id": "r-1"}]}
    events = [
        event("MessageEvent", "user", llm_message=message("go"), extended_content=[{"text": "Use the shop skill."}]),
        event("MessageEvent", "agent", llm_message={**message("done"), "role": "assistant"}, llm_response_id="r-1"),
        event("ConversationStateUpdateEvent", "environment", key="stats", value={"usage_to_metrics": {"a": metrics}}),
    ]
    (run,) = read(("events.json", events))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.tokens_in, model.tokens_out, model.tokens_cached) == ("openai/gpt-4o", 42, 9, 16)
    assert run.steps[0].cost_usd == Decimal("0.5")
    assert request_contents(model) == [
        [{"type": "text", "text": "go"}, {"type": "text", "text": "Use the shop skill."}]
    ], "a skill adds to the request"


def test_error_at_end_fails_session() -> None:
    error = {"id": 90, "source": "environment", "observation": "error", "content": "too many steps", "extras": {}}
    (failed,) = read(("events.json", [*EVENTS, error]))
    assert (failed.status, failed.steps[0].error) == (RunStatus.FAILED, "too many steps")
    answer = {"id": 91, "source": "agent", "action": "message", "args": {"content": "Let me try again."}}
    (resumed,) = read(("events.json", [*EVENTS, error, answer]))
    assert (resumed.status, resumed.steps[0].error) == (RunStatus.COMPLETED, "")


def test_state_of_a_conversation_names_its_model_and_costs() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "Count the books."}]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Five."}]}
    events = [
        {"kind": "MessageEvent", "id": "m1", "source": "user", "llm_message": message},
        {"kind": "MessageEvent", "id": "m2", "source": "agent", "llm_message": answer},
    ]
    usage = {"usage_to_metrics": {"agent": {"accumulated_cost": 0.5}}}
    llm = {"model": "openai/gpt-4o", "temperature": 0.5, "api_key": "**"}
    state = {"id": "conv-1", "agent": {"llm": llm}, "workspace": {}, "stats": usage, "title": "Books"}
    files = [
        Source(name=f"c/events/event-{index}.json", data=orjson.dumps(event)) for index, event in enumerate(events)
    ]
    files.insert(0, Source(name="c/base_state.json", data=orjson.dumps(state)))
    assert {key for file in files for key in openhands.keys(file)} == {"folder c/events"}
    (run,) = openhands.parse(files)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.external_id, model.model, run.steps[0].cost_usd) == ("conv-1", "openai/gpt-4o", Decimal("0.5"))
    assert ModelRequest(model.input).parameters == {"temperature": 0.5}
    assert run.metadata["state"] == {"workspace": {}, "stats": usage, "title": "Books"}
    runs, (problem,) = fixtures.detect_and_read("openhands", files[0].data, "base_state.json")
    assert (runs, "without its events" in problem) == ([], True)


def test_instructions_may_be_a_whole_message() -> None:
    instructions = {"role": "system", "content": "Count what is on the shelf."}
    answer = {"role": "assistant", "content": "Five."}
    typed = [
        {"kind": "SystemPromptEvent", "id": "e1", "source": "agent", "system_prompt": instructions, "tools": []},
        {"kind": "MessageEvent", "id": "e2", "source": "agent", "llm_message": answer},
    ]
    actions = [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": instructions}},
        {"id": 1, "source": "agent", "action": "message", "args": {"content": "Five."}},
    ]
    for events in (typed, actions):
        ((run,), _) = fixtures.detect_and_read("openhands", orjson.dumps(events))
        assert request_contents(fixtures.steps(run, StepType.MODEL)[0]) == ["Count what is on the shelf."]


def test_evaluations_by_the_sdk_have_models_and_tokens() -> None:
    usage = {"model": "claude-sonnet", "prompt_tokens": 100, "completion_tokens": 10, "response_id": "r1"}
    call = {"tool_name": "terminal", "tool_call_id": "c1", "llm_response_id": "r1", "summary": "list files"}
    action = {"id": "e1", "source": "agent", "kind": "ActionEvent", "action": {"command": "ls"}, **call}
    result = {"kind": "TerminalObservation", "content": [{"type": "text", "text": "a.py"}]}
    observation = {"source": "environment", "kind": "ObservationEvent", "action_id": "e1", "observation": result}
    row = {
        "instance_id": "x-1",
        "instruction": "Fix it.",
        "history": [action, observation],
        "metadata": {"llm": {"model": "litellm/claude-sonnet", "temperature": 0.5}},
        "metrics": {"accumulated_cost": 0.25, "token_usages": [usage]},
        "test_result": {"result": {"resolved": 0}},
    }
    (run,) = read(("output.jsonl", row))
    (model,), (tool,) = fixtures.steps(run, StepType.MODEL), fixtures.steps(run, StepType.TOOL)
    assert (model.model, model.tokens_in, model.tokens_out) == ("claude-sonnet", 100, 10)
    assert ModelRequest(model.input).parameters == {"temperature": 0.5}
    assert (tool.output, tool.attributes["summary"]) == ("a.py", "list files")
    assert [(item.name, item.kind) for item in run.judgements] == [("resolved", JudgementKind.FAIL)]


def test_pairs_of_events_need_no_cause() -> None:
    action = {"id": 0, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "I look."}}
    result = {"id": 1, "source": "agent", "observation": "run", "content": "a.py", "extras": {"exit_code": 0}}
    (run,) = read(("output.jsonl", {"instance_id": "x-1", "instruction": "Fix it.", "history": [[action, result]]}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output) == ({"command": "ls"}, "a.py")


def test_sdk_instructions_have_their_context_and_hooks_are_notes() -> None:
    texts = {name: {"type": "text", "text": name} for name in ("system_prompt", "dynamic_context")}
    hook = {"kind": "HookExecutionEvent", "source": "hook", "hook_command": "check.sh", "blocked": False}
    reply = {"role": "assistant", "content": "Five."}
    critic = {"score": 0.8, "message": "thorough"}
    events = [
        {"kind": "SystemPromptEvent", "id": "e1", "source": "agent", "tools": [], **texts},
        {"id": "e2", **hook},
        {"kind": "MessageEvent", "id": "e3", "source": "agent", "llm_message": reply, "critic_result": critic},
    ]
    ((run,), _) = fixtures.detect_and_read("openhands", orjson.dumps(events))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert request_contents(model) == [[*texts.values()]]
    assert run.metadata["events"] == [hook]
    assert model.attributes == {"critic_result": critic, "event_id": "e3"}


def test_calls_of_an_agent_behind_its_protocol_are_steps() -> None:
    call = {"kind": "ACPToolCallEvent", "source": "agent", "tool_call_id": "c1", "title": "Read a.py"}
    events = [
        {"kind": "MessageEvent", "id": "e1", "source": "user", "llm_message": {"role": "user", "content": "Fix it."}},
        {**call, "id": "e2", "status": "pending", "tool_kind": "read"},
        {
            **call,
            "id": "e3",
            "status": "failed",
            "tool_kind": "read",
            "raw_input": {"path": "a.py"},
            "raw_output": "no",
        },
    ]
    ((run,), _) = fixtures.detect_and_read("openhands", orjson.dumps(events))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.output, tool.error) == ("read", {"path": "a.py"}, "no", "no")
    assert (tool.attributes["title"], tool.attributes["event_id"]) == ("Read a.py", "e3")


def test_observation_keeps_what_is_not_its_text() -> None:
    action = {"kind": "ActionEvent", "id": "e1", "source": "agent", "tool_name": "terminal", "tool_call_id": "c1"}
    result = {"kind": "TerminalObservation", "content": "a.py", "metadata": {"working_dir": "/shop"}, "exit_code": 0}
    observation = {"kind": "ObservationEvent", "id": "e2", "action_id": "e1", "observation": result}
    ((run,), _) = fixtures.detect_and_read("openhands", orjson.dumps([action, observation]))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert tool.attributes["observation"] == {"metadata": {"working_dir": "/shop"}, "exit_code": 0}
