"""Exports of Mastra, PostHog, Galileo and New Relic."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

ASK = [{"role": "user", "content": "Is Dune in stock?"}]


def import_value(value: Any) -> RecordedRun:
    data = orjson.dumps(value)
    source = Source(name="export", data=data)
    (run,) = registry.detect(fixtures.sample("export", data)).runs([source])
    assert not source.problems
    return run


def mastra_span(id: str, parent: str | None, kind: str, **members: Any) -> dict[str, Any]:
    return {
        "traceId": "t1",
        "spanId": id,
        "parentSpanId": parent,
        "name": f"{kind}: 'stock'",
        "spanType": kind,
        "startedAt": f"2026-01-01T00:00:0{id[-1]}.000Z",
        "endedAt": f"2026-01-01T00:00:0{id[-1]}.500Z",
        **members,
    }


@pytest.mark.parametrize("has_page", [False, True])
def test_mastra_counts_each_model_call_once(has_page: bool) -> None:
    usage = {"inputTokens": 20, "outputTokens": 5, "inputDetails": {"cacheRead": 8}}
    call = {"payload": {"toolCallId": "c1", "toolName": "stock", "args": {"title": "Dune"}}}
    spans = [
        mastra_span("s1", None, "agent_run", input=ASK),
        mastra_span(
            "s2", "s1", "model_generation", attributes={"model": "gpt-4o", "provider": "openai", "usage": usage}
        ),
        mastra_span(
            "s3",
            "s2",
            "model_step",
            input={"messages": ASK},
            output={"text": "", "toolCalls": [call]},
            attributes={"usage": usage, "finishReason": "tool-calls"},
        ),
        mastra_span("s4", "s3", "model_chunk", output="Y"),
        mastra_span("s5", "s1", "tool_call", input={"title": "Dune"}, error={"message": "no shop"}),
    ]
    run = import_value({"pagination": {"page": 0}, "spans": spans} if has_page else {"traceId": "t1", "spans": spans})
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.key, model.model, model.provider) == ("s3", "gpt-4o", "openai")
    assert (model.tokens_in, model.tokens_out, model.tokens_cached) == (20, 5, 8)
    assert model.output == {
        "message": {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "name": "stock", "arguments": {"title": "Dune"}}],
        },
        "finish_reason": "tool_calls",
    }
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.tool_name, tool.status, tool.error) == ("c1", "stock", StepStatus.ERROR, "no shop")
    assert len(run.steps) == 4


def posthog_event(kind: str, second: int, **properties: Any) -> dict[str, Any]:
    members = {f"$ai_{name}": value for name, value in {"trace_id": "t1", **properties}.items()}
    return {"event": f"$ai_{kind}", "timestamp": f"2026-01-01T00:00:0{second}Z", "properties": members}


def test_posthog_events_form_trace() -> None:
    call = {"type": "function", "id": "c1", "function": {"name": "stock", "arguments": {"title": "Dune"}}}
    run = import_value(
        {
            "results": [
                posthog_event("trace", 5, span_name="shop", latency=5),
                posthog_event(
                    "generation",
                    2,
                    span_id="g1",
                    model="gpt-4o",
                    provider="openai",
                    input=ASK,
                    output_choices=[{"role": "assistant", "content": [{"type": "text", "text": "I look"}, call]}],
                    input_tokens=20,
                    output_tokens=5,
                    cache_read_input_tokens=8,
                    total_cost_usd=0.002,
                    latency=1,
                ),
                posthog_event(
                    "span", 3, span_id="s1", span_name="stock", input_state={"title": "Dune"}, error="no shop"
                ),
                posthog_event("feedback", 6, feedback_text="slow"),
            ]
        }
    )
    root, model, tool = run.steps
    assert (root.type, model.parent, model.tokens_in, model.tokens_cached) == (StepType.AGENT, root.key, 20, 8)
    assert model.cost_usd == Decimal("0.002")
    assert model.started_at
    assert model.started_at.second == 1
    assert (tool.type, tool.call_id, tool.error) == (StepType.TOOL, "c1", "no shop")
    assert [(mark.name, mark.text) for mark in run.judgements] == [("feedback", "slow")]


def test_posthog_adds_cached_tokens_of_anthropic() -> None:
    counts = {"input_tokens": 20, "output_tokens": 5, "cache_read_input_tokens": 8}
    event = posthog_event("generation", 2, span_id="g1", provider="anthropic", input=ASK, **counts)
    (model,) = import_value([event]).steps
    assert (model.tokens_in, model.tokens_cached) == (28, 8)


def test_galileo_spans_are_nested() -> None:
    counts = {"num_input_tokens": 20, "num_output_tokens": 5, "duration_ns": 1_500_000_000}
    model_span = {
        "type": "llm",
        "name": "ask",
        "input": ASK,
        "output": {"role": "assistant", "content": "Yes"},
        "model": "gpt-4o",
        "finish_reason": "stop",
        "created_at": "2026-01-01T00:00:01Z",
        "metrics": counts,
    }
    tool_span = {
        "type": "tool",
        "name": "stock",
        "input": '{"title": "Dune"}',
        "tool_call_id": "c1",
        "status_code": 500,
    }
    inner = {"type": "agent", "name": "clerk", "id": "a1", "spans": [model_span, tool_span]}
    run = import_value({"traces": [{"type": "trace", "id": "t1", "metrics": {"correctness": 0.5}, "spans": [inner]}]})
    root, agent, model, tool = run.steps
    assert (run.external_id, agent.parent, model.parent, tool.parent) == ("t1", root.key, "a1", "a1")
    assert (model.tokens_in, model.output) == (
        20,
        {"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"},
    )
    assert (tool.call_id, tool.input, tool.status) == ("c1", {"title": "Dune"}, StepStatus.ERROR)
    assert [(mark.name, mark.value) for mark in run.judgements] == [("correctness", 0.5)]


def test_model_of_answer_is_kept_beside_requested_one() -> None:
    output = {"model": "gpt-4o-2024", "choices": [{"message": {"role": "assistant", "content": "Yes"}}]}
    span = mastra_span("s1", None, "model_step", input={"model": "gpt-4o", "messages": ASK}, output=output)
    for attributes in ({}, {"model": "gpt-4o"}):
        (step,) = import_value({"spans": [{**span, "attributes": attributes}]}).steps
        assert (step.model, step.attributes["response_model"]) == ("gpt-4o", "gpt-4o-2024")


def test_events_of_new_relic_form_calls() -> None:
    def event(**members: Any) -> dict[str, Any]:
        return {"trace_id": "t1", "vendor": "openai", "appName": "shop", "timestamp": 1_767_225_602_000, **members}

    summary = {
        "request.model": "gpt-4o",
        "request.temperature": 0.5,
        "response.number_of_messages": 2,
        "response.usage.prompt_tokens": 20,
        "response.choices.finish_reason": "stop",
    }
    answer = event(completion_id="c1", sequence=1, role="assistant", content="Yes", is_response=True)
    request = event(completion_id="c1", sequence=0, role="user", content="Is Dune in stock?")
    tool = event(
        id="x1", run_id="r", name="stock", input="Dune", output="no shop", error=True, timestamp=1_767_225_603_000
    )
    run = import_value([{"results": [answer, request, event(id="c1", duration=1500, **summary), tool]}])
    (model, call) = run.steps
    assert (run.external_id, run.app, model.model, model.tokens_in) == ("t1", "shop", "gpt-4o", 20)
    assert model.input == {"messages": ASK, "parameters": {"temperature": 0.5}}
    assert model.output == {"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
    assert model.started_at
    assert model.started_at.microsecond == 500_000
    assert (call.tool_name, call.input, call.output, call.status) == ("stock", "Dune", "no shop", StepStatus.ERROR)
