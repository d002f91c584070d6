"""Responses of OpenAI's API in the recordings of platforms: requests with items, and answers."""

import json
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "find", "arguments": '{"title": "Dune"}'}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "3 copies"}
REQUEST = {"model": "gpt-5", "instructions": "You keep a bookshop.", "input": [fixtures.REQUEST, THOUGHT, CALL, RESULT]}
USAGE = {"input_tokens": 30, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 4}}
RESPONSE = {"id": "resp_1", "object": "response", "model": "gpt-5-1", "output": [THOUGHT, CALL], "usage": USAGE}
TIMES = {"start_time": "2026-10-01T10:00:00Z", "end_time": "2026-10-01T10:00:01Z"}


def mlflow_trace() -> Any:
    values = {"mlflow.spanType": "CHAT_MODEL", "mlflow.spanInputs": REQUEST, "mlflow.spanOutputs": RESPONSE}
    attributes = {name: json.dumps(value) for name, value in values.items()}
    span = {"name": "Responses", "context": {"span_id": "0x01", "trace_id": "0xab"}, "parent_id": None}
    times = {"start_time": 1_790_000_000_000_000_000, "end_time": 1_790_000_001_000_000_000}
    spans: Any = [{**span, **times, "status_code": "OK", "attributes": attributes, "events": []}]
    return {"info": {"trace_id": "tr-1", "state": "OK"}, "data": {"spans": spans}}


def langsmith_runs() -> Any:
    return [{"id": "r1", "trace_id": "r1", "run_type": "llm", "inputs": REQUEST, "outputs": RESPONSE, **TIMES}]


def langfuse_trace(*, is_text: bool = False) -> Any:
    request, response = (json.dumps(value) if is_text else value for value in (REQUEST, RESPONSE))
    call = {"id": "o1", "traceId": "t1", "type": "GENERATION", "name": "openai", "startTime": TIMES["start_time"]}
    counts = {"usageDetails": {"input": 30, "output": 5}}
    observation = {**call, "input": request, "output": response, "model": "gpt-5", **counts}
    return {"id": "t1", "timestamp": TIMES["start_time"], "observations": [observation], "scores": []}


def litellm_call() -> Any:
    times = {"startTime": 1_790_000_000, "endTime": 1_790_000_001}
    call = {"call_type": "responses", "model": "gpt-5", "response_cost": 0.1, **times}
    instructions = {"role": "system", "content": "You keep a bookshop."}
    messages = [instructions, *REQUEST["input"]]
    return [{"id": "resp_1", **call, "messages": messages, "response": RESPONSE, "status": "success"}]


def braintrust_span() -> Any:
    span = {"id": "a", "span_id": "a", "root_span_id": "a", "span_attributes": {"type": "llm", "name": "openai"}}
    metadata = {"model": "gpt-5", "instructions": "You keep a bookshop."}
    return [{**span, "input": REQUEST["input"], "output": RESPONSE["output"], "metadata": metadata}]


def run_of(value: Any) -> RecordedRun:
    data = json.dumps(value).encode()
    (run,) = registry.detect(fixtures.sample("export", data)).runs([Source(name="export", data=data)])
    return run


@pytest.mark.parametrize(
    "value",
    [
        mlflow_trace(),
        langsmith_runs(),
        langfuse_trace(),
        langfuse_trace(is_text=True),
        litellm_call(),
        braintrust_span(),
    ],
    ids=["MLflow", "LangSmith", "Langfuse", "Langfuse's texts", "LiteLLM", "Braintrust"],
)
def test_items_of_responses_are_messages_and_calls(value: Any) -> None:
    (step,) = fixtures.steps(run_of(value), StepType.MODEL)
    request: Any = step.input
    output: Any = step.output
    call = {"id": "call_1", "name": "find", "arguments": {"title": "Dune"}}
    answer = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Look it up."}], "tool_calls": [call]}
    assert request["messages"] == [
        {"role": "system", "content": "You keep a bookshop."},
        fixtures.REQUEST,
        answer,
        {"role": "tool", "content": "3 copies", "tool_call_id": "call_1"},
    ]
    assert (output["message"], output["finish_reason"]) == (answer, "tool_calls")
    assert step.model == "gpt-5"


@pytest.mark.parametrize("value", [mlflow_trace(), langsmith_runs(), langfuse_trace()])
def test_responses_have_their_ids_and_counts(value: Any) -> None:
    (step,) = fixtures.steps(run_of(value), StepType.MODEL)
    assert (step.tokens_in, step.tokens_out) == (30, 5)
    assert step.attributes["response"] == {"id": "resp_1"}
    assert "continuation" in step.attributes


def test_items_alone_are_messages() -> None:
    trace = langfuse_trace()
    trace["observations"][0] |= {"input": REQUEST["input"], "output": RESPONSE["output"]}
    (step,) = fixtures.steps(run_of(trace), StepType.MODEL)
    request: Any = step.input
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool"]


def test_settings_of_a_chat_model_are_parameters() -> None:
    trace = mlflow_trace()
    settings = {"temperature": 0.5, "max_tokens": None, "stream": False}
    inputs = {"context": "<PythonModelContext>", "messages": [fixtures.REQUEST], "params": settings}
    outputs = {"choices": [{"message": {"role": "user", "content": "Yes."}, "finish_reason": "stop"}], "id": "c-1"}
    attributes = trace["data"]["spans"][0]["attributes"]
    attributes |= {"mlflow.spanInputs": json.dumps(inputs), "mlflow.spanOutputs": json.dumps(outputs)}
    (step,) = run_of(trace).steps
    assert step.input == {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.5}}
    assert step.output == {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    assert step.attributes["response"] == {"id": "c-1"}
