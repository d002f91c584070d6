"""Histories of agent libraries: Pydantic AI, the Agent Development Kit, Assistants, Semantic Kernel, Strands, Letta."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelRequest


def results(run: RecordedRun) -> list[tuple[str, str, Any, str]]:
    tools = fixtures.steps(run, StepType.TOOL)
    return [(step.call_id, step.tool_name, step.output, step.error) for step in tools]


def test_parts_are_answers_and_results() -> None:
    run = fixtures.run("pydantic_ai.json")
    assert results(run) == [
        ("call_1", "find_book", '{"copies":3}', ""),
        ("call_2", "find_shelf", "no such shelf", "no such shelf"),
    ]
    first, last = fixtures.steps(run, StepType.MODEL)
    assert (first.tokens_in, first.tokens_out, first.tokens_cached, last.tokens_in, last.tokens_out) == (
        20,
        5,
        4,
        30,
        6,
    )
    request: Any = first.input
    assert request["messages"][0] == fixtures.SYSTEM
    assert (run.external_id, first.provider) == ("pa-1", "openai")


def test_denied_calls_are_denied() -> None:
    messages: Any = fixtures.source("pydantic_ai.json").value
    denial = {"part_kind": "tool-return", "tool_call_id": "call_1", "content": "not allowed", "outcome": "denied"}
    (run,) = fixtures.read("pydantic-ai", [[*messages[:2], {"kind": "request", "parts": [denial]}]])
    assert fixtures.steps(run, StepType.TOOL)[0].status.value == "denied"


def test_builtin_tools_of_pydantic_ai_are_steps() -> None:
    call = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": '{"q": "Dune"}', "tool_call_id": "b1"}
    result = {"part_kind": "builtin-tool-return", "tool_name": "web_search", "tool_call_id": "b1", "content": ["3"]}
    answer = {"kind": "response", "parts": [call, result, {"part_kind": "text", "content": "Yes."}]}
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Is Dune in stock?"}]}
    (run,) = fixtures.read("pydantic-ai", [[request, answer]])
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.output) == ("web_search", {"q": "Dune"}, ["3"])
    assert tool.attributes["provider_ran"] is True


def test_ids_of_items_in_pydantic_ai_continue_the_answer() -> None:
    call = {"part_kind": "tool-call", "tool_name": "find", "args": "{}", "tool_call_id": "c1", "id": "fc_1"}
    thought = {"part_kind": "thinking", "content": "The shelf.", "id": "rs_1"}
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Is Dune in stock?"}]}
    (run,) = fixtures.read("pydantic-ai", [[request, {"kind": "response", "parts": [thought, call]}]])
    assert fixtures.steps(run, StepType.MODEL)[0].attributes["continuation"] == [
        {"type": "thinking", "call_id": None, "id": "rs_1"},
        {"type": "tool-call", "call_id": "c1", "id": "fc_1"},
    ]


def test_steps_of_pydantic_ai_have_the_other_members_of_messages_and_parts() -> None:
    prompt = {"part_kind": "user-prompt", "content": "Is Dune in stock?", "scope": "run"}
    call = {"part_kind": "tool-call", "tool_name": "find", "args": "{}", "tool_call_id": "c1", "tool_kind": "search"}
    facts = {"failed_attempts": [{"model": "mini"}], "usage": {"input_tokens": 3, "cost": "0.002"}}
    requests = [
        {"kind": "request", "metadata": {"shop": 1}, "parts": [prompt]},
        {"kind": "response", "parts": [call], **facts},
    ]
    (run,) = fixtures.read("pydantic-ai", [requests])
    (turn,), (model,) = fixtures.steps(run, StepType.TURN), fixtures.steps(run, StepType.MODEL)
    assert turn.attributes == {"metadata": {"shop": 1}, "scope": "run"}
    assert (str(model.cost_usd), model.attributes["failed_attempts"]) == ("0.00200000", [{"model": "mini"}])
    assert fixtures.steps(run, StepType.TOOL)[0].attributes["tool_kind"] == "search"


def test_session_ends_with_its_error() -> None:
    run = fixtures.run("adk_session.json")
    assert (run.status, run.app, run.metadata["state"]) == (RunStatus.FAILED, "bookshop", {"shelf": 7})
    assert [(call_id, bool(error)) for call_id, _, _, error in results(run)] == [("call_1", True)]
    answer, failure = fixtures.steps(run, StepType.MODEL)
    assert (answer.model, answer.tokens_in, failure.error) == (
        "gemini-2.5-flash",
        20,
        "RESOURCE_EXHAUSTED: too many requests",
    )
    assert fixtures.answer_contents(run)[0] == "I look."


def test_thread_joins_messages_and_steps() -> None:
    run = fixtures.run("openai_thread.json")
    assert results(run) == [
        ("call_1", "find_book", "3 copies", ""),
        ("call_2", "code_interpreter", [{"type": "logs", "logs": "3"}], ""),
    ]
    assert [step.tokens_in for step in fixtures.steps(run, StepType.MODEL)] == [20, 30]
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "incomplete")
    thread: Any = fixtures.source("openai_thread.json").value
    (apart,) = fixtures.read("openai-assistants", thread["steps"], [thread["messages"]], thread["runs"])
    assert apart.steps == run.steps


def test_items_of_both_languages_are_read() -> None:
    run = fixtures.run("semantic_kernel.json")
    assert results(run) == [("call_1", "shop-find_book", "3 copies", "")]
    usage = {"InputTokenCount": 20, "OutputTokenCount": 5, "TotalTokenCount": 25}
    call = {"$type": "FunctionCallContent", "Id": "c", "PluginName": "shop", "FunctionName": "find", "Arguments": {}}
    messages = [
        {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "Is Dune in stock?"}]},
        {"Role": {"Label": "assistant"}, "ModelId": "gpt-x", "Items": [call], "Metadata": {"Usage": usage}},
        {"Role": {"Label": "tool"}, "Items": [{"$type": "FunctionResultContent", "CallId": "c", "Result": "no"}]},
    ]
    ((other,), problems) = fixtures.detect_and_read("semantic-kernel", orjson.dumps(messages))
    assert (results(other), other.name, problems) == ([("c", "shop-find", "no", "")], "Is Dune in stock?", [])
    assert [(step.tokens_in, step.tokens_out) for step in fixtures.steps(other, StepType.MODEL)] == [(20, 5)]


def test_files_of_a_folder_are_one_session() -> None:
    rows = [record.value for record in fixtures.source("strands_messages.jsonl").records()]
    folder = "session_s-1/agents/agent_clerk/messages"
    sources = [Source(name=f"{folder}/{n}.json", data=orjson.dumps(row)) for n, row in enumerate(reversed(rows))]
    (run,) = registry.get_importer("strands").runs(sources)
    assert [step.output for step in run.steps] == [step.output for step in fixtures.run("strands_messages.jsonl").steps]
    assert (run.external_id, results(run)) == ("s-1", [("call_1", "find_book", "no such shelf", "no such shelf")])


def test_agents_and_messages_of_letta_are_runs() -> None:
    run = fixtures.run("letta_agent.json")
    assert results(run) == [("call_1", "find_book", "no such shelf", "no such shelf")]
    call = {"name": "find_book", "arguments": '{"title": "Dune"}', "tool_call_id": "c"}
    messages = [
        {"id": "m2", "date": "2026-03-01T10:00:02Z", "message_type": "tool_call_message", "tool_call": call},
        {"id": "m1", "date": "2026-03-01T10:00:01Z", "message_type": "reasoning_message", "reasoning": "I look."},
        {"id": "m0", "date": "2026-03-01T10:00:00Z", "message_type": "user_message", "content": "Is Dune in stock?"},
    ]
    ((other,), problems) = fixtures.detect_and_read("letta", orjson.dumps(messages))
    (model,) = fixtures.steps(other, StepType.MODEL)
    output: Any = model.output
    assert output["message"]["content"] == [{"type": "thinking", "thinking": "I look."}]
    assert (results(other), problems) == ([("c", "find_book", None, "")], [])
    response = [
        *messages[::-1],
        {"message_type": "stop_reason", "stop_reason": "llm_api_error"},
        {"message_type": "usage_statistics", "prompt_tokens": 99},
    ]
    ((whole,), _) = fixtures.detect_and_read("letta", orjson.dumps(response))
    assert [step.type for step in whole.steps] == [step.type for step in other.steps]
    assert (whole.status, whole.metadata["usage_statistics"]) == (RunStatus.FAILED, {"prompt_tokens": 99})


def test_bad_sessions_are_skipped() -> None:
    session: Any = fixtures.source("adk_session.json").value
    bad = {**session, "id": "bad", "events": [{**session["events"][0], "timestamp": "never"}]}
    (runs, problems) = fixtures.detect_and_read("adk", fixtures.json_lines([bad, session]))
    assert ([run.external_id for run in runs], len(problems)) == (["adk-1"], 1)
    thread: Any = fixtures.source("openai_thread.json").value
    message = {"id": "m", "object": "thread.message", "thread_id": "bad", "role": "user", "created_at": "never"}
    (runs, problems) = fixtures.detect_and_read("openai-assistants", fixtures.json_lines([message, thread]))
    assert ([run.external_id for run in runs], len(problems)) == (["thread_1"], 1)


def agno_message(role: str, content: str | None, **members: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **members}


def test_agno_sessions_have_history_once() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"title": "Dune"}'}}
    system, ask = agno_message("system", "Sell"), agno_message("user", "Is Dune in stock?")
    answer = agno_message("assistant", "No", metrics={"input_tokens": 30, "output_tokens": 2, "cache_read_tokens": 9})
    first = [
        system,
        ask,
        agno_message("assistant", None, tool_calls=[call], reasoning_content="I look"),
        agno_message("tool", "no shop", tool_call_id="c1", tool_name="stock", tool_call_error=True),
        answer,
    ]
    history = [{**message, "from_history": True} for message in (ask, answer)]
    second = [system, *history, agno_message("user", "Why?"), agno_message("assistant", "Sold out")]
    member = {"run_id": "r3", "agent_name": "clerk", "content": "0", "parent_run_id": "r2", "status": "ERROR"}
    runs = [
        {"run_id": "r1", "agent_id": "a", "model": "gpt-4o", "messages": first, "status": "COMPLETED"},
        {"run_id": "r2", "agent_id": "a", "model": "gpt-4o", "messages": second, "status": "ERROR"},
        {**member, "messages": [agno_message("user", "Count"), agno_message("assistant", "0")]},
    ]
    data = orjson.dumps({"session_id": "s1", "agent_data": {"name": "Shop"}, "runs": runs})
    ((run,), problems) = fixtures.detect_and_read("agno", data)
    call_step, answer_step, last, clerk = fixtures.steps(run, StepType.MODEL)
    assert (run.external_id, run.app, run.status, problems) == ("s1", "Shop", RunStatus.FAILED, [])
    assert (answer_step.tokens_in, answer_step.tokens_cached, call_step.model) == (30, 9, "gpt-4o")
    assert results(run) == [("c1", "stock", "no shop", "no shop")]
    assert [as_object(message)["content"] for message in ModelRequest(last.input).messages] == [
        "Sell",
        "Is Dune in stock?",
        "No",
        "Why?",
    ]
    assert (clerk.key, clerk.parent, run.steps[0].key) == ("r3/msg-2", "r3/msg-1", "agent")


def test_evaluations_of_adk_are_runs() -> None:
    def content(role: str, **part: Any) -> dict[str, Any]:
        return {"role": role, "parts": [part]}

    invocation = {
        "invocation_id": "i1",
        "user_content": content("user", text="Is Dune in stock?"),
        "intermediate_data": {
            "tool_uses": [{"id": "c1", "name": "find_book", "args": {"title": "Dune"}}],
            "tool_responses": [{"id": "c1", "name": "find_book", "response": {"copies": 3}}],
            "intermediate_responses": [["clerk", [{"text": "I look."}]]],
        },
        "final_response": content("model", text="Yes."),
    }
    cases = [{"eval_id": "stock", "conversation": [invocation], "session_input": {"app_name": "shop"}}]
    metric = {"metric_name": "match", "score": 0.5, "threshold": 1.0}
    result = {
        "eval_id": "stock",
        "final_eval_status": 2,
        "overall_eval_metric_results": [metric],
        "eval_metric_result_per_invocation": [{"actual_invocation": invocation}],
    }
    evaluation = {"eval_set_id": "books", "eval_case_results": [result]}
    # The kit encodes results twice.
    for value in ({"eval_set_id": "books", "eval_cases": cases}, orjson.dumps(evaluation).decode()):
        ((run,), problems) = fixtures.detect_and_read("adk", orjson.dumps(value))
        assert (run.external_id, problems) == ("books/stock", [])
        assert results(run) == [("c1", "find_book", '{"copies":3}', "")]
        assert fixtures.answer_contents(run) == [None, "I look.", "Yes."]
    assert [(mark.name, mark.kind, mark.value) for mark in run.judgements] == [
        ("eval", "fail", None),
        ("match", "score", 0.5),
    ]


def test_events_of_llamaindex_agents_are_a_run() -> None:
    def message(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": text}]}

    call = {"tool_name": "find_book", "tool_kwargs": {"title": "Dune"}, "tool_id": "c1"}
    ask, agent = message("user", "Is Dune in stock?"), {"current_agent_name": "clerk"}
    output = {"blocks": [{"block_type": "text", "text": "no shelf"}], "is_error": True}
    answer = message("assistant", "Answer: No.")
    events: list[dict[str, Any]] = [
        {"input": [ask], **agent},
        {"delta": "I", "response": "I look", "tool_calls": [], **agent},
        {"response": message("assistant", "I look."), "tool_calls": [call], **agent},
        {**call, "tool_output": output},
        {"input": [ask, message("assistant", "I look."), message("user", "no shelf")], **agent},
        {"response": answer, "tool_calls": [], "raw": {"model": "gpt-4o", "usage": {"prompt_tokens": 9}}, **agent},
        {"result": {"response": message("assistant", "No.")}},
    ]
    wrapped = [{"__is_pydantic": True, "value": events[0], "qualified_name": "a.AgentInput"}, *events[1:]]
    for values in (events, wrapped):
        ((run,), problems) = fixtures.detect_and_read("llamaindex-events", fixtures.json_lines(values))
        (first, last) = fixtures.steps(run, StepType.MODEL)
        assert results(run) == [("c1", "find_book", "no shelf", "no shelf")]
        assert [len(ModelRequest(step.input).messages) for step in (first, last)] == [1, 3]
        assert (last.model, last.tokens_in, run.steps[-1].output, problems) == ("gpt-4o", 9, {"text": "No."}, [])


def test_agents_of_letta_without_stored_instructions_have_theirs() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    agent = {"name": "clerk", "system": "Be kind.", "llm_config": {"model": "gpt-4o"}, "messages": messages}
    ((run,), problems) = fixtures.detect_and_read("letta", orjson.dumps({"agents": [agent]}))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (fixtures.request_contents(model), problems) == (["Be kind.", "Hi"], [])
