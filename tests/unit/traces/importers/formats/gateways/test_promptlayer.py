"""Requests of PromptLayer, as its API returns them and as programs log them."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus


def message(role: str, text: str, **members: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}], **members}


CALL = {"id": "c1", "type": "function", "function": {"name": "find_book", "arguments": '{"title": "Dune"}'}}
TOOL = {"type": "function", "function": {"name": "find_book", "parameters": {"type": "object"}}}
TEMPLATE = {
    "type": "chat",
    "tools": [TOOL],
    "messages": [
        message("user", "Is Dune in?"),
        message("assistant", "", tool_calls=[CALL]),
        message("tool", "3 copies", tool_call_id="c1"),
        message("assistant", "Yes."),
    ],
}
TIMES = {"request_start_time": "2026-05-01T10:00:00", "request_end_time": "2026-05-01T10:00:01.5"}
FACTS = {**TIMES, "provider": "openai", "model": "gpt-4o", "input_tokens": 12, "output_tokens": 5, "price": 0.002}
RETURNED = {
    **FACTS,
    "request_id": 7,
    "trace_id": "t1",
    "prompt_blueprint": {
        "prompt_template": TEMPLATE,
        "metadata": {"model": {"parameters": {"temperature": 0.3}}, "team": "shop"},
    },
}
LOGGED = {
    **FACTS,
    "input": {"type": "chat", "messages": [message("user", "Is Dune in?")]},
    "output": {"type": "chat", "messages": [message("assistant", "Yes.")]},
    "prompt_name": "stock",
    "tags": ["prod"],
    "score": 80,
}


def read(*rows: Any) -> list[RecordedRun]:
    runs, problems = fixtures.detect_and_read("promptlayer", b"\n".join(map(orjson.dumps, rows)))
    assert problems == []
    return runs


def test_last_message_of_a_returned_request_is_its_answer() -> None:
    (run,) = read(RETURNED)
    (model,) = run.steps
    assert (run.external_id, model.key, model.provider, model.attributes["team"]) == ("t1", "7", "openai", "shop")
    assert (model.tokens_in, model.tokens_out, str(model.cost_usd)) == (12, 5, "0.00200000")
    assert fixtures.answer_contents(run) == ["Yes."]
    request: Any = model.input
    assert [item["role"] for item in request["messages"]] == ["user", "assistant", "tool"]
    assert (request["parameters"], request["tools"][0]["name"]) == ({"temperature": 0.3}, "find_book")


def test_requests_of_a_trace_are_one_run() -> None:
    (run,) = read(RETURNED, {**RETURNED, "request_id": 8})
    assert [step.key for step in run.steps] == ["7", "8"]


def test_logged_requests_have_input_and_output() -> None:
    completion = {"type": "completion", "content": [{"type": "text", "text": "Once"}]}
    chat, other = read(LOGGED, {**LOGGED, "input": completion, "score": 0})
    assert (fixtures.answer_contents(chat), chat.tags) == (["Yes."], ("prod",))
    assert [(score.kind, score.value) for score in chat.judgements] == [(JudgementKind.SCORE, 80.0)]
    assert fixtures.request_contents(other.steps[0]) == ["Once"]
    assert [(score.kind, score.value) for score in other.judgements] == [(JudgementKind.SCORE, 0.0)]


def test_request_that_timed_out_fails_its_run() -> None:
    (run,) = read({**LOGGED, "output": {"type": "chat", "messages": []}, "error_message": "timed out after 30 s"})
    assert (run.status, run.steps[0].status, run.steps[0].output) == (RunStatus.FAILED, StepStatus.TIMEOUT, None)
