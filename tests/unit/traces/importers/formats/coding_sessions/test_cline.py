"""Tasks of Cline."""

import time
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


def test_calls_in_text_become_tools() -> None:
    run = fixtures.run("cline_history.json")
    read, count, _ = fixtures.steps(run, StepType.TOOL)
    assert (read.tool_name, read.input, read.output) == ("read_file", {"path": "shelf_7"}, "3 copies")
    assert (count.call_id, count.status, count.error) == ("toolu_1", StepStatus.ERROR, "no such shelf")
    assert len(fixtures.steps(run, StepType.TURN)) == 2, "what Cline adds is no turn, and feedback is one"


def test_screen_has_requests_with_tokens_and_failures() -> None:
    run = fixtures.run("cline_ui.json")
    answers = fixtures.steps(run, StepType.MODEL)
    assert [(step.tokens_in, step.tokens_out, step.error) for step in answers] == [
        (120, 9, ""),
        (140, 11, ""),
        (25, None, "overloaded"),
        (145, 12, ""),
        (155, 3, ""),
    ]
    read, command = fixtures.steps(run, StepType.TOOL)
    assert (read.status, command.output) == (StepStatus.PARTIAL, "wc: shelf_9:\nno such file")


def test_files_of_a_task_are_one_run() -> None:
    names = {"api_conversation_history.json": "cline_history.json", "ui_messages.json": "cline_ui.json"}
    sources = [
        Source(name=f"tasks/1772359200000/{name}", data=fixtures.source(example).data)
        for name, example in names.items()
    ]
    (run,) = registry.get_importer("cline").runs(sources)
    assert run.external_id == "1772359200000"
    tokens = [(step.tokens_in, step.tokens_out) for step in fixtures.steps(run, StepType.MODEL)]
    assert tokens == [(120, 9), (140, 11), (145, 12), (155, 3)]


def test_other_chats_are_not_tasks() -> None:
    chat: list[Any] = [{"role": "user", "content": "Is Dune in stock?"}, {"role": "assistant", "content": "Yes."}]
    assert registry.detect(fixtures.sample("chat.json", orjson.dumps(chat))).name == "chat"


def test_tags_without_end_are_read_in_linear_time() -> None:
    text = "<execute_command>" + "<a>" * 300_000 + "</execute_command>" + "<read_file>" * 100_000
    history: list[Any] = [{"role": "user", "content": "<task>x</task>"}, {"role": "assistant", "content": text}]
    start = time.process_time()
    ((run,), _) = fixtures.detect_and_read("cline", orjson.dumps(history), name="history.json")
    assert len(fixtures.steps(run, StepType.TOOL)) == 1
    assert time.process_time() - start < 5


def test_output_of_the_command_line_has_each_event_once() -> None:
    def event(number: int, kind: str, text: Any, **facts: Any) -> dict[str, Any]:
        text = text if isinstance(text, str) else orjson.dumps(text).decode()
        return {"ts": 1_772_359_270_000 + number, "type": "say", "say": kind, "text": text, **facts}

    model = {"modelInfo": {"providerId": "anthropic", "modelId": "claude-sonnet-4-5", "mode": "act"}}
    lines = [
        {"type": "task_started", "taskId": "1772359270000"},
        event(1, "task", "Count Dune."),
        event(2, "api_req_started", {"request": "r"}, **model),
        event(3, "text", "Three", partial=True),
        event(3, "text", "Three copies.", partial=False),
        event(2, "api_req_started", {"request": "r", "tokensIn": 9, "tokensOut": 3, "cost": 0.5}, **model),
        event(4, "user_feedback", "And Emma?"),
        event(5, "api_req_started", {"request": "s"}),
        event(6, "text", "One."),
        event(7, "api_req_finished", {"tokensIn": 12, "tokensOut": 4, "cacheReads": 2}),
    ]
    ((run,), problems) = fixtures.detect_and_read("cline", fixtures.json_lines(lines))
    counts = [(step.model, step.tokens_in, step.tokens_out) for step in fixtures.steps(run, StepType.MODEL)]
    assert counts == [("claude-sonnet-4-5", 9, 3), ("", 14, 4)]
    assert (run.external_id, len(fixtures.steps(run, StepType.TURN)), problems) == ("1772359270000", 2, [])
