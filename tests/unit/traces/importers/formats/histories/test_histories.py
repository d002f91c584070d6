"""Histories of agent libraries: Pydantic AI, the Agent Development Kit, Assistants, Semantic Kernel, Strands, Letta."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


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
    call = {"$type": "FunctionCallContent", "Id": "c", "PluginName": "shop", "FunctionName": "find", "Arguments": {}}
    messages = [
        {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "Is Dune in stock?"}]},
        {"Role": {"Label": "assistant"}, "ModelId": "gpt-x", "Items": [call]},
        {"Role": {"Label": "tool"}, "Items": [{"$type": "FunctionResultContent", "CallId": "c", "Result": "no"}]},
    ]
    ((other,), problems) = fixtures.detect_and_read("semantic-kernel", orjson.dumps(messages))
    assert (results(other), other.name, problems) == ([("c", "shop-find", "no", "")], "Is Dune in stock?", [])


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


def test_bad_sessions_are_skipped() -> None:
    session: Any = fixtures.source("adk_session.json").value
    bad = {**session, "id": "bad", "events": [{**session["events"][0], "timestamp": "never"}]}
    (runs, problems) = fixtures.detect_and_read("adk", fixtures.json_lines([bad, session]))
    assert ([run.external_id for run in runs], len(problems)) == (["adk-1"], 1)
    thread: Any = fixtures.source("openai_thread.json").value
    message = {"id": "m", "object": "thread.message", "thread_id": "bad", "role": "user", "created_at": "never"}
    (runs, problems) = fixtures.detect_and_read("openai-assistants", fixtures.json_lines([message, thread]))
    assert ([run.external_id for run in runs], len(problems)) == (["thread_1"], 1)
