"""Logs of requests through Portkey."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus

LOGS: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "portkey.jsonl").read_bytes().splitlines()]


def test_requests_of_a_trace_are_one_run() -> None:
    run, single = fixtures.runs("portkey.jsonl")
    assert (run.external_id, run.environment, run.metadata["user"]) == ("trace-7", "production", "ann")
    assert [(step.key, step.parent) for step in run.steps] == [("log-1", None), ("log-2", "log-1"), ("log-3", "log-1")]
    assert (single.external_id, [step.key for step in single.steps]) == ("log-4", ["log-4"])


def test_request_has_answer_tokens_and_cost_of_cents() -> None:
    step = fixtures.runs("portkey.jsonl")[0].steps[0]
    assert (step.tokens_in, step.tokens_out, step.tokens_cached) == (42, 9, 16)
    assert (step.cost_usd, step.provider, step.model) == (Decimal("0.0005"), "openai", "gpt-4o-mini")
    assert step.output == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert step.input == {
        "messages": [fixtures.SYSTEM, fixtures.REQUEST],
        "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
        "parameters": {"temperature": 0.2},
    }


def test_failed_request_made_again_is_no_failure_of_the_run() -> None:
    run, _ = fixtures.runs("portkey.jsonl")
    assert [(step.status, step.error) for step in run.steps] == [
        (StepStatus.OK, ""),
        (StepStatus.ERROR, "rate limited"),
        (StepStatus.OK, ""),
    ]
    assert (run.status, run.steps[1].output) == (RunStatus.COMPLETED, None)


def test_guardrails_and_feedback_are_judgements() -> None:
    run, _ = fixtures.runs("portkey.jsonl")
    assert [(item.name, item.kind, item.value, item.step) for item in run.judgements] == [
        ("guard-mail", JudgementKind.PASS, None, "log-1"),
        ("feedback", JudgementKind.SCORE, 0.8, "log-3"),
    ]


def test_columns_of_bodies_are_texts() -> None:
    step = fixtures.runs("portkey.jsonl")[1].steps[0]
    assert step.input == {"messages": [fixtures.SYSTEM, fixtures.REQUEST]}
    assert step.output == {"message": fixtures.ANSWER, "finish_reason": "stop"}


def test_other_columns_may_be_absent() -> None:
    names = ("trace_id", "request", "response", "ai_model", "is_success")
    row = {name: LOGS[0][name] for name in names}
    ((run,), problems) = fixtures.detect_and_read("portkey", orjson.dumps([row]))
    assert (run.external_id, len(run.steps), run.steps[0].tokens_in, problems) == ("trace-7", 1, 42, [])


def test_requests_with_equal_span_ids_are_all_kept() -> None:
    rows = [{**LOGS[0], "id": f"log-{number}", "span_id": "same", "parent_span_id": "same"} for number in range(3)]
    ((run,), problems) = fixtures.detect_and_read("portkey", orjson.dumps({"data": rows}))
    assert (len(run.steps), problems) == (3, [])
