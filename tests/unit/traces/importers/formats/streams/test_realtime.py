"""Logged events of OpenAI's Realtime API."""

import time
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType

EVENTS: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "realtime.jsonl").read_bytes().splitlines()]
CREATED = EVENTS[0]


def read(events: list[Any]) -> RecordedRun:
    ((run,), problems) = fixtures.detect_and_read("openai-realtime", fixtures.json_lines(events))
    assert problems == []
    return run


def test_session_is_a_conversation() -> None:
    run = fixtures.run("realtime.jsonl")
    ask, failure, answer = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.status, run.metadata["audio"]) == (
        "sess_7",
        RunStatus.COMPLETED,
        {"output": {"voice": "marin"}},
    )
    assert ask.input == {
        "messages": [fixtures.SYSTEM, fixtures.REQUEST],
        "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
        "parameters": {"tool_choice": "auto", "temperature": 0.8},
    }
    assert ask.output == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert (ask.model, ask.tokens_in, ask.tokens_out, ask.tokens_cached) == ("gpt-realtime", 42, 9, 16)
    assert (tool.call_id, tool.input, tool.output) == ("call_1", {"title": "Dune"}, "3 copies")
    assert (failure.status, failure.error) == (StepStatus.ERROR, "try again")
    assert fixtures.request_contents(answer)[-1] == "3 copies"
    assert answer.output == {"message": {"role": "assistant", "content": "Yes, three copies."}, "finish_reason": "stop"}


@pytest.mark.parametrize("wrapper", ["event", "data"])
def test_events_beside_a_time_have_it(wrapper: str) -> None:
    rows = [
        {"timestamp": f"2026-03-01T10:00:{number:02}Z", "direction": "in", wrapper: event}
        for number, event in enumerate(EVENTS)
    ]
    run = read(rows)
    ask = fixtures.steps(run, StepType.MODEL)[0]
    assert ask.ended_at == datetime(2026, 3, 1, 10, 0, 7, tzinfo=UTC)
    assert [step.output for step in run.steps] == [step.output for step in fixtures.run("realtime.jsonl").steps]


def test_items_of_the_client_alone_count() -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Is Dune in stock?"}]}
    result = next(event for event in EVENTS if event["type"] == "conversation.item.create")
    done = [event for event in EVENTS if event["type"] == "response.done"]
    client = {"type": "conversation.item.create", "event_id": "c"}
    run = read([CREATED, {**client, "item": item}, done[0], result, done[2]])
    first, second = fixtures.steps(run, StepType.MODEL)
    assert fixtures.request_contents(first) == [fixtures.SYSTEM["content"], fixtures.REQUEST["content"]]
    assert fixtures.request_contents(second)[2:] == [None, "3 copies"]


def test_each_session_of_a_log_is_a_run() -> None:
    other = {**CREATED, "session": {**CREATED["session"], "id": "sess_8"}}
    data = fixtures.json_lines([*EVENTS, other, *EVENTS[1:]])
    runs, _ = fixtures.detect_and_read("openai-realtime", data)
    assert [run.external_id for run in runs] == ["sess_7", "sess_8"]


def test_long_session_is_read_in_linear_time() -> None:
    item, call, done = EVENTS[3], EVENTS[8], EVENTS[7]
    events = [CREATED]
    for number in range(5_000):
        events += [{**item, "item": {**item["item"], "id": f"i{number}"}}, call, call, done]
    start = time.thread_time()
    run = read(events)
    assert len(fixtures.steps(run, StepType.MODEL)) == 5_000
    assert time.thread_time() - start < 6
