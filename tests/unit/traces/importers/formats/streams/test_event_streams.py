"""Recorded streams of the APIs of models."""

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile

CALL_ANSWER = {"message": fixtures.CALL, "finish_reason": "tool_calls"}


def sse(*events: Any) -> bytes:
    return b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events)


def read(data: bytes) -> tuple[list[RecordedRun], list[str]]:
    return fixtures.detect_and_read("event-stream", data)


def chunk(delta: Any, reason: str | None = None, **fields: Any) -> Any:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "gpt-x", "choices": [choice], **fields}


def anthropic(*events: Any, id: str = "m1") -> list[Any]:
    message = {"id": id, "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    return [{"type": "message_start", "message": message}, *events]


TEXT = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
]
STOP = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}


def test_answers_of_four_apis_are_joined() -> None:
    runs = {run.external_id: run for run in fixtures.runs("event_streams.txt")}
    assert set(runs) == {"chatcmpl-s1", "msg_s2", "resp_s3", "gem-s4"}
    assert {run.status for run in runs.values()} == {RunStatus.COMPLETED}
    facts = {
        id: (step.provider, step.tokens_in, step.tokens_out, step.tokens_cached)
        for id, run in runs.items()
        for step in run.steps
    }
    assert facts == {
        "chatcmpl-s1": ("openai", 42, 9, 16),
        "resp_s3": ("openai", 42, 9, 16),
        "msg_s2": ("anthropic", 36, 9, 16),
        "gem-s4": ("google", 42, 9, None),
    }
    assert runs["chatcmpl-s1"].steps[0].output == CALL_ANSWER
    assert runs["resp_s3"].steps[0].output == CALL_ANSWER
    thought = {"type": "thinking", "thinking": "Look at the shelf.", "signature": "c2lnbmVk"}
    assert runs["msg_s2"].steps[0].output == {**CALL_ANSWER, "message": {**fixtures.CALL, "content": [thought]}}
    answer = {"role": "assistant", "content": "Yes, three copies."}
    assert runs["gem-s4"].steps[0].output == {"message": answer, "finish_reason": "stop"}


def test_lines_and_lists_of_events_give_same_runs() -> None:
    lines = [line[6:] for line in (fixtures.FOLDER / "event_streams.txt").read_bytes().splitlines() if b"{" in line]
    events = [orjson.loads(line) for line in lines if line.startswith(b"{")]
    expected = fixtures.runs("event_streams.txt")
    event_records = [{"event": event.get("type", ""), "data": orjson.dumps(event).decode()} for event in events]
    for data in (fixtures.json_lines(events), orjson.dumps(events), fixtures.json_lines(event_records)):
        assert read(data) == (expected, [])


def test_stream_without_its_end_is_partial() -> None:
    ((run,), problems) = read(sse(chunk({"role": "assistant", "content": "Ye"}), chunk({"content": "s"})))
    (step,) = run.steps
    assert (run.status, step.status, problems) == (RunStatus.PARTIAL, StepStatus.PARTIAL, [])
    assert step.output == {"message": {"role": "assistant", "content": "Yes"}}
    ((run,), _) = read(sse(*anthropic(*TEXT)))
    assert run.status is RunStatus.PARTIAL


def test_response_without_its_end_has_its_pieces() -> None:
    response = {"id": "r1", "object": "response", "model": "gpt-x", "status": "in_progress", "output": []}
    message = {"type": "message", "role": "assistant", "content": []}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Ye"},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "s"},
    ]
    ((run,), _) = read(sse(*events))
    output: Any = run.steps[0].output
    assert (run.status, output["message"]["content"]) == (RunStatus.PARTIAL, "Yes")


@pytest.mark.parametrize("error", [{"type": "error", "error": {"message": "overloaded"}}, {"error": {"code": "x"}}])
def test_error_that_ends_a_stream_is_a_failure(error: Any) -> None:
    ((run,), problems) = read(sse(*anthropic(*TEXT), error))
    message = error["error"].get("message", "x")
    assert (run.status, run.steps[0].error, problems) == (RunStatus.FAILED, message, [])


def test_chunks_of_two_answers_may_alternate() -> None:
    parts = [("c1", "a"), ("c2", "x"), ("c1", "b"), ("c2", "y")]
    chunks = [chunk({"content": text}, id=id) for id, text in parts]
    ends = [chunk({}, "stop", id=id) for id in ("c1", "c2")]
    runs, _ = read(sse(*chunks, *ends))
    assert [(run.external_id, *fixtures.answer_contents(run)) for run in runs] == [("c1", "ab"), ("c2", "xy")]


def test_answers_without_ids_are_told_apart_by_their_ends() -> None:
    chunks = [{**chunk({"content": text}, reason), "id": ""} for text, reason in (("a", "stop"), ("b", "stop"))]
    runs, _ = read(sse(*chunks))
    assert [content for run in runs for content in fixtures.answer_contents(run)] == ["a", "b"]


def test_whole_calls_under_one_index_are_kept() -> None:
    calls = [{"index": 0, "id": id, "function": {"name": "find", "arguments": "{}"}} for id in ("a", "b")]
    ((run,), _) = read(sse(*(chunk({"tool_calls": [call]}) for call in calls), chunk({}, "tool_calls")))
    output: Any = run.steps[0].output
    assert [call["id"] for call in output["message"]["tool_calls"]] == ["a", "b"]


def test_citations_of_a_text_are_kept() -> None:
    delta = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "three"}}
    event = {"type": "content_block_delta", "index": 0, "delta": delta}
    ((run,), _) = read(sse(*anthropic(*TEXT, event, STOP)))
    assert "three" in repr(run.steps[0])


def test_ollama_lines_are_one_answer() -> None:
    times = {"model": "llama3", "created_at": "2026-03-01T10:00:00Z"}
    lines = [{**times, "message": {"role": "assistant", "content": text}, "done": False} for text in ("Ye", "s")]
    end = {**times, "message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 42}
    ((run,), problems) = read(fixtures.json_lines([*lines, {**end, "eval_count": 9}]))
    (step,) = run.steps
    assert (step.provider, step.model, step.tokens_in, step.tokens_out) == ("ollama", "llama3", 42, 9)
    assert (run.app, fixtures.answer_contents(run), problems) == ("ollama", ["Yes"], [])


def test_list_of_whole_answers_is_no_stream() -> None:
    answer = {"candidates": [{"content": {"parts": [{"text": "Yes"}]}, "finishReason": "STOP"}], "responseId": "g"}
    data = orjson.dumps([answer, {**answer, "responseId": "h"}])
    assert registry.detect(fixtures.sample("answers.json", data)).name == "call-log"


def test_broken_events_are_reported() -> None:
    data = sse(*anthropic(*TEXT, STOP)) + b'data: {"type": \n\n'
    ((run,), problems) = read(data)
    assert (run.status, problems) == (
        RunStatus.COMPLETED,
        ["an event of a stream that is no JSON object (event 5)"],
    )


def test_stream_of_an_error_alone_is_refused() -> None:
    data = sse({"type": "error", "error": {"message": "overloaded"}})
    with pytest.raises(BadFile, match="none of a model's answer"):
        registry.detect(fixtures.sample("stream.txt", data))


def many_chunks() -> bytes:
    return sse(*([chunk({"content": "a"})] * 30_000))


def many_answers() -> bytes:
    return sse(*(chunk({"content": "a"}, "stop", id=f"c{number % 10_000}") for number in range(30_000)))


def many_markers() -> bytes:
    return sse(*anthropic(*TEXT)) + b"data: " * 10_000 + b"\ndata:" * 10_000


def many_calls() -> bytes:
    return sse(*(chunk({"tool_calls": [{"index": 0, "id": f"a{number}"}]}) for number in range(20_000)))


@pytest.mark.parametrize("build", [many_chunks, many_answers, many_markers, many_calls])
def test_time_is_linear(build: Callable[[], bytes]) -> None:
    data = build()
    start = time.thread_time()
    runs, _ = read(data)
    assert runs
    assert all(step.type in (StepType.MODEL, StepType.TOOL) for run in runs[:10] for step in run.steps)
    assert time.thread_time() - start < 4
