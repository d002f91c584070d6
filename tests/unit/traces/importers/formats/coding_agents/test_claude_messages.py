"""Messages of the Claude Agent SDK for Python, as its dataclasses become JSON."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import claude_code

INIT = {"subtype": "init", "data": {"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/shop"}}
RESULT = {
    "subtype": "success",
    "duration_ms": 9,
    "is_error": False,
    "num_turns": 2,
    "session_id": "s1",
    "result": "One.",
}


def answer(*blocks: dict[str, Any], caller: str | None = None, **facts: Any) -> dict[str, Any]:
    return {"content": [*blocks], "model": "claude-opus-4-6", "parent_tool_use_id": caller, "error": None, **facts}


def request(content: Any, caller: str | None = None) -> dict[str, Any]:
    return {"content": content, "uuid": None, "parent_tool_use_id": caller}


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "input": arguments}


def read(messages: list[dict[str, Any]], *, as_list: bool = False) -> RecordedRun:
    data = orjson.dumps(messages) if as_list else fixtures.json_lines(messages)
    (run,), problems = fixtures.detect_and_read("claude-code", data, "messages")
    assert problems == []
    return run


@pytest.mark.parametrize("as_list", [False, True])
def test_parts_without_ids_are_one_answer(as_list: bool) -> None:
    messages = [
        INIT,
        request("List the files."),
        answer({"thinking": "The shelf.", "signature": "x"}),
        answer({"text": "I list."}),
        answer(call("toolu_1", "Bash", command="ls")),
        request([{"tool_use_id": "toolu_1", "content": "denied", "is_error": True}]),
        answer({"text": "None."}, usage={"input_tokens": 9, "output_tokens": 2}, message_id="msg_2"),
        RESULT,
    ]
    run = read(messages, as_list=as_list)
    first, second = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.name, run.status) == ("s1", "List the files.", RunStatus.COMPLETED)
    assert (tool.call_id, tool.input, tool.status) == ("toolu_1", {"command": "ls"}, StepStatus.ERROR)
    assert "The shelf." in str(first.output)
    assert "id" not in first.attributes
    assert (second.tokens_in, second.attributes["id"]) == (9, "msg_2")
    assert run.metadata["init"] == {"subtype": "init", "cwd": "/shop"}


def test_messages_of_a_sub_agent_are_nested() -> None:
    messages = [
        request("Count."),
        answer(call("toolu_1", "Task", prompt="Count the books.")),
        request("Count the books.", "toolu_1"),
        answer({"text": "Three."}, caller="toolu_1"),
        request([{"tool_use_id": "toolu_1", "content": "Three."}]),
        answer({"text": "3"}),
        {**RESULT, "is_error": True, "subtype": "error_max_turns"},
    ]
    run = read(messages)
    assert run.name == "Count."
    task = next(step for step in run.steps if step.call_id == "toolu_1")
    assert [step.type for step in run.steps if step.parent == task.key] == [StepType.AGENT]
    assert (run.status, [item.text for item in run.judgements]) == (RunStatus.FAILED, ["error_max_turns"])


def test_result_in_a_file_of_its_own_joins_its_session() -> None:
    body = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}], "id": "m1", "model": "claude-x"}
    session = Source(
        name="s.jsonl", data=fixtures.json_lines([{"type": "assistant", "message": body, "session_id": "cs"}])
    )
    fields = {"type": "result", "subtype": "error_max_turns", "is_error": True, "session_id": "cs"}
    result = Source(name="r.json", data=orjson.dumps(fields))
    assert claude_code.keys(session) & claude_code.keys(result)
    (run,) = claude_code.parse([result, session])
    assert (run.status, run.judgements[0].text) == (RunStatus.FAILED, "error_max_turns")
    assert list(claude_code.parse([result])) == []
    assert "only the result" in str(result.problems[0])
