"""Chats of GitHub Copilot in VS Code."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

CHAT: Any = fixtures.source("copilot_chat.json").value


def read(data: bytes) -> tuple[RecordedRun, list[str]]:
    ((run,), problems) = fixtures.detect_and_read("copilot-chat", data)
    return run, problems


def call(**fields: Any) -> dict[str, Any]:
    return {"kind": "toolInvocationSerialized", "toolCallId": "t", "toolId": "run", "isComplete": True} | fields


def tool(part: dict[str, Any]) -> Any:
    request = {**CHAT["requests"][1], "response": [part]}
    run, _ = read(orjson.dumps({**CHAT, "requests": [request]}))
    (step,) = fixtures.steps(run, StepType.TOOL)
    return step


def test_rounds_have_calls_and_results() -> None:
    run = fixtures.run("copilot_chat.json")
    first, second, *_ = fixtures.steps(run, StepType.MODEL)
    step = fixtures.steps(run, StepType.TOOL)[0]
    assert (step.tool_name, step.input, step.output) == ("find_book", {"title": "Dune"}, "Shelf 7:\n3 copies")
    assert step.attributes["message"] == "Looked for Dune", "of the call as it was shown"
    assert fixtures.answer_contents(run)[:2] == [
        [{"type": "thinking", "thinking": "Look it up."}, {"type": "text", "text": "Let me look. "}],
        "Yes, three copies.",
    ]
    assert (first.model, second.model, second.provider) == ("claude-x", "claude-y", "anthropic")
    assert second.attributes["usage_of_all_calls"] == {"input_tokens": 42, "output_tokens": 9}
    assert str(second.ended_at) == "2026-03-01 10:00:02+00:00"


def test_shown_parts_form_answers() -> None:
    run = fixtures.run("copilot_chat.json")
    *_, shown, answer, failed = fixtures.steps(run, StepType.MODEL)
    assert fixtures.answer_contents(run)[2:] == ["Wait.", "It is in till.md.", None]
    assert shown.parent == answer.parent
    assert (failed.status, failed.error, run.status) == (StepStatus.ERROR, "no requests left", RunStatus.FAILED)
    assert [(item.name, item.kind, item.text) for item in run.judgements] == [
        ("vote", JudgementKind.FAIL, "incorrectCode")
    ]


def test_shown_calls_have_arguments_and_results() -> None:
    terminal = {"commandLine": {"original": "ls"}, "terminalCommandState": {"exitCode": 2}}
    step = tool(call(toolSpecificData={**terminal, "terminalCommandOutput": {"text": "no till"}}))
    assert (step.input, step.output, step.error) == ({"command": "ls"}, "no till", "no till")
    details = {"input": '{"title": "Dune"}', "output": [{"value": "3"}, {"value": "copies"}], "isError": False}
    step = tool(call(resultDetails=details, isConfirmed={"type": 1}))
    assert (step.input, step.output, step.status) == ({"title": "Dune"}, "3\ncopies", StepStatus.OK)
    assert tool(call(isConfirmed={"type": 0})).status is StepStatus.DENIED
    assert tool(call(isComplete=False, invocationMessage="Running")).status is StepStatus.PARTIAL


def test_journal_gives_same_run() -> None:
    first, *rest = CHAT["requests"]
    lines = [
        {"kind": 0, "v": {**CHAT, "sessionId": "vs-1", "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [{**first, "response": [{"value": "draft"}], "result": None}]},
        {"kind": 2, "k": ["requests", 0, "response"], "i": 0, "v": first["response"]},
        {"kind": 1, "k": ["requests", 0, "result"], "v": first["result"]},
        {"kind": 2, "k": ["requests"], "v": rest},
        {"kind": 1, "k": ["inputState", "inputText"], "v": ""},
        {"kind": 1, "k": ["customTitle"], "v": "Dune"},
        {"kind": 3, "k": ["customTitle"]},
    ]
    run, problems = read(fixtures.json_lines(lines))
    assert (run.external_id, problems) == ("vs-1", [])
    assert run.steps == fixtures.run("copilot_chat.json").steps
    _, problems = read(fixtures.json_lines([*lines, {"kind": 1, "k": ["requests", 9, "result"], "v": {}}]))
    assert problems == ["this line changes something that no earlier line has (line 9)"]


def test_chat_without_requests_is_refused() -> None:
    empty = Source(name="chat.json", data=orjson.dumps({**CHAT, "requests": []}))
    importer = registry.detect(fixtures.sample("chat.json", empty.data))
    assert (importer.name, list(importer.runs([empty]))) == ("copilot-chat", [])
    assert "has no steps" in str(empty.problems[0])
