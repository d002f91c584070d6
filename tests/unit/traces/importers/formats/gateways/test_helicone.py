"""Requests of Helicone that are no plain calls of models, and bodies of streams."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType

MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}
CALL = {"type": "tool_use", "id": "call_1", "name": "find_book", "input": {"title": "Dune"}}
ASK = {"model": "claude-x", "system": "You keep a bookshop.", "messages": [dict(fixtures.REQUEST)]}


def row(number: int, request: Any, response: Any, **fields: Any) -> Any:
    return {
        "request_id": f"q{number}",
        "request_created_at": f"2026-03-01T10:00:0{number}.000Z",
        "response_created_at": f"2026-03-01T10:00:0{number}.900Z",
        "response_status": 200,
        "request_body": request,
        "response_body": response,
        "request_properties": {"Helicone-Session-Id": "s1"},
        "provider": "ANTHROPIC",
        **fields,
    }


def read(*rows: Any) -> tuple[list[RecordedRun], list[str]]:
    return fixtures.detect_and_read("helicone", orjson.dumps({"data": rows, "error": None}))


def test_logged_tools_and_searches_are_steps() -> None:
    usage = {"input_tokens": 20, "output_tokens": 5, "cache_read_input_tokens": 16}
    answer = {**MESSAGE, "content": [CALL], "stop_reason": "tool_use", "usage": usage}
    tool = {"_type": "tool", "toolName": "find_book"}
    search = {"_type": "vector_db", "operation": "search", "text": "sand", "topK": 2}
    documents = [{"id": "d1", "score": 0.9, "content": "Dune is a novel."}]
    ((run,), problems) = read(
        row(1, ASK, answer),
        row(2, {**tool, "input": {"title": "Dune"}}, {**tool, "copies": 3, "shelf": 7}),
        row(3, search, {"_type": "vector_db", "results": documents}),
        row(4, {**tool, "input": {}}, {**tool, "status": "error", "message": "no such shelf"}),
    )
    model, tool_step, retrieval, failure = run.steps
    assert [step.type for step in run.steps] == [StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.TOOL]
    assert (model.tokens_in, model.tokens_cached, model.attributes["response"]) == (36, 16, {"id": "msg_1"})
    assert (tool_step.tool_name, tool_step.call_id, tool_step.input) == ("find_book", "call_1", {"title": "Dune"})
    assert tool_step.output == {"copies": 3, "shelf": 7}
    assert retrieval.input == {"query": "sand", "operation": "search", "topK": 2}
    assert retrieval.output == {"documents": documents}
    assert (failure.status, failure.error, problems) == (StepStatus.ERROR, "no such shelf", [])


def test_events_of_a_stream_are_joined() -> None:
    events = [
        {"type": "message_start", "message": {**MESSAGE, "content": [], "usage": {"input_tokens": 20}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ]
    ((run,), _) = read(row(1, ASK, {"streamed_data": events}))
    (step,) = run.steps
    assert step.output == {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    assert (step.tokens_in, step.tokens_out) == (20, 2)


def test_events_beside_a_joined_answer_do_not_count() -> None:
    answer = {"choices": [{"message": dict(fixtures.ANSWER), "finish_reason": "stop"}]}
    ((run,), _) = read(row(1, ASK, {**answer, "streamed_data": [{"choices": [{"delta": {"content": "Yes"}}]}]}))
    assert fixtures.answer_contents(run) == [fixtures.ANSWER["content"]]


def test_requests_without_bodies_are_refused() -> None:
    bare = {**row(1, None, None), "signed_body_url": "https://bodies.example/q1"}
    runs, problems = read({name: item for name, item in bare.items() if not name.endswith("_body")})
    assert runs == []
    assert problems == [
        "these requests of Helicone have no bodies, which are behind `signed_body_url`: "
        "export them with their bodies (request q1)"
    ]
    ((run,), problems) = read(bare, row(2, ASK, {**MESSAGE, "content": [{"type": "text", "text": "Yes."}]}))
    assert (run.status, len(run.steps), run.steps[0].input, problems) == (RunStatus.COMPLETED, 2, None, [])
