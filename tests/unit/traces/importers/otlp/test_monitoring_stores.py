"""Spans from Sentry and Dynatrace, and inside objects of other programs."""

import json
from typing import Any

import pytest

from tests.support.importing_fixtures import detect_and_read
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus

TRACE = "cd" * 16
TASK = [{"role": "user", "content": "Which invoices are open?"}]
CALL = {"id": "c1", "name": "find", "arguments": {"status": "open"}}


def run_of(value: Any) -> RecordedRun:
    (run,), _ = detect_and_read("otlp", json.dumps(value).encode(), "spans.json")
    return run


def sentry_span(number: int, operation: str, data: dict[str, Any], **fields: Any) -> dict[str, Any]:
    ids = {"span_id": f"{number:016x}", "parent_span_id": f"{1:016x}", "trace_id": TRACE}
    times = {"start_timestamp": 1_790_000_000.5 + number, "timestamp": 1_790_000_001.5 + number}
    return {**ids, **times, "op": f"gen_ai.{operation}", "description": operation, "data": data, **fields}


def test_transaction_of_sentry_is_a_trace() -> None:
    chat = {
        "gen_ai.request.model": "gpt-5",
        "gen_ai.request.messages": json.dumps(TASK),
        "gen_ai.request.available_tools": json.dumps([{"name": "find", "description": "Find invoices."}]),
        "gen_ai.response.text": '["I look."]',
        "gen_ai.response.tool_calls": json.dumps([CALL]),
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 12,
    }
    tool = {"gen_ai.tool.name": "find", "gen_ai.tool.input": '{"status": "open"}', "gen_ai.tool.output": "B-7"}
    trace = {"trace_id": TRACE, "span_id": f"{1:016x}", "op": "gen_ai.invoke_agent", "status": "ok", "data": {}}
    spans = [sentry_span(2, "chat", chat), sentry_span(3, "execute_tool", tool, status="internal_error")]
    times = {"start_timestamp": 1_790_000_000.5, "timestamp": 1_790_000_009.5}
    event = {"transaction": "invoke_agent Desk", "environment": "prod", "contexts": {"trace": trace}, **times}
    run = run_of({**event, "spans": spans})
    agent, model, call = run.steps
    output: Any = model.output
    assert (run.external_id, run.environment, agent.name) == (TRACE, "prod", "invoke_agent Desk")
    assert (model.parent, model.model, model.tokens_in, model.tokens_out) == (agent.key, "gpt-5", 90, 12)
    assert output["message"] == {"role": "assistant", "content": "I look.", "tool_calls": [CALL]}
    assert (call.name, call.call_id, call.input, call.output) == ("find", "c1", CALL["arguments"], "B-7")
    assert (call.status, call.error) == (StepStatus.ERROR, "internal_error")


def test_records_of_dynatrace_are_spans() -> None:
    times = {"start_time": "2026-05-01T10:00:01.000000000Z", "end_time": "2026-05-01T10:00:03.000000000Z"}
    span = {"trace.id": TRACE, "span.kind": "internal", "service.name": "desk", **times}
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.input.messages": json.dumps(TASK),
        "gen_ai.usage.input_tokens": "90",
    }
    records = [
        {**span, "span.id": f"{1:016x}", "span.name": "agent"},
        {**span, "span.id": f"{2:016x}", "span.parent_id": f"{1:016x}", "span.name": "chat", **chat},
    ]
    run = run_of({"state": "SUCCEEDED", "result": {"records": records}})
    agent, model = run.steps
    assert (run.app, model.parent, model.input, model.tokens_in) == ("desk", agent.key, {"messages": TASK}, 90)
    assert model.started_at is not None
    assert "span.name" not in model.attributes


@pytest.mark.parametrize(
    "wrap",
    [
        lambda spans: {"trace": {"id": TRACE, "spans": spans}},
        lambda spans: {"status": "ok", "data": {"trace": {"id": TRACE}, "spans": spans}},
    ],
)
def test_spans_inside_objects_of_programs(wrap: Any) -> None:
    times = {"start_time": "2026-05-01T10:00:01Z", "end_time": "2026-05-01T10:00:03Z"}
    span = {"trace_id": TRACE, "span_id": f"{1:016x}", "name": "agent", "attributes": {"input.value": "Hi"}, **times}
    assert [step.name for step in run_of(wrap([span])).steps] == ["agent"]
