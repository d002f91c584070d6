"""Calls through LiteLLM's proxy."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus

LOGS: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "litellm.jsonl").read_bytes().splitlines()]


def test_logged_calls_have_requests_and_costs() -> None:
    run, _ = fixtures.runs("litellm.jsonl")
    answered, failed = run.steps
    assert (run.external_id, run.status, run.tags) == ("t-1", RunStatus.FAILED, ("demo",))
    assert (answered.tokens_in, answered.tokens_cached, answered.cost_usd) == (42, 16, Decimal("0.0005"))
    assert answered.output == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert answered.input == {
        "messages": [fixtures.SYSTEM, fixtures.REQUEST],
        "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
        "parameters": {"temperature": 0.2},
    }
    assert (failed.status, failed.error, failed.output) == (StepStatus.ERROR, "529 overloaded", None)


def test_spend_logs_form_sessions() -> None:
    _, run = fixtures.runs("litellm.jsonl")
    (step,) = run.steps
    assert (run.external_id, step.cost_usd, step.model) == ("s-9", Decimal("0.001"), "gpt-4o-mini")
    assert step.input == {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.2}}
    assert step.output == {"message": fixtures.ANSWER, "finish_reason": "stop"}
    assert "api_key" not in step.attributes


def test_repeated_call_handles_the_failure() -> None:
    retry = {**LOGS[0], "id": "r-1", "startTime": LOGS[1]["startTime"] + 9, "endTime": LOGS[1]["endTime"] + 9}
    ((run,), problems) = fixtures.detect_and_read("litellm", orjson.dumps({"data": [*LOGS[:2], retry]}))
    assert (run.status, len(run.steps), problems) == (RunStatus.COMPLETED, 3, [])


def test_log_without_messages_has_counts() -> None:
    bare = {**LOGS[2], "messages": {}, "response": {}, "proxy_server_request": "{}"}
    ((run,), _) = fixtures.detect_and_read("litellm", orjson.dumps([bare]))
    (step,) = run.steps
    assert (step.input, step.output, step.tokens_in) == (None, None, 42)


def test_cached_tokens_of_a_spend_log_are_in_its_metadata() -> None:
    usage = {"prompt_tokens": 42, "prompt_tokens_details": {"cached_tokens": 16}}
    bare = {**LOGS[2], "response": {}, "metadata": orjson.dumps({"usage_object": usage}).decode()}
    ((run,), _) = fixtures.detect_and_read("litellm", orjson.dumps([bare]))
    assert (run.steps[0].tokens_in, run.steps[0].tokens_cached) == (42, 16)
