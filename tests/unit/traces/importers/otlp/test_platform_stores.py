"""Spans of LangWatch, Respan, Laminar and the developer tools of the Vercel AI SDK."""

import json
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType

CALL = {"id": "c1", "type": "function", "function": {"name": "find_book", "arguments": '{"title": "Dune"}'}}
ANSWER = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CALLS = [{"id": "c1", "name": "find_book", "arguments": {"title": "Dune"}}]


def read(*values: Any) -> RecordedRun:
    ((run,), problems) = fixtures.detect_and_read("otlp", fixtures.json_lines(values))
    assert problems == []
    return run


def check_model_call(run: RecordedRun) -> None:
    step = run.steps[1]
    assert as_object(step.input) == {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.5}}
    assert as_object(as_object(step.output)["message"])["tool_calls"] == CALLS
    assert (step.type, step.model, step.provider) == (StepType.MODEL, "gpt-x", "openai")
    assert (step.tokens_in, step.tokens_out, str(step.cost_usd)) == (30, 5, "0.25000000")
    assert (run.metadata["session.id"], run.metadata["user.id"]) == ("s1", "u1")


def test_trace_of_langwatch_has_steps_and_evaluations() -> None:
    def span(id: str, type: str, input: Any = None, output: Any = None, **fields: Any) -> dict[str, Any]:
        times = {"started_at": 1_772_359_200_000 + ord(id), "finished_at": 1_772_359_201_000}
        payloads = {"input": {"type": "json", "value": input}, "output": {"type": "json", "value": output}}
        parent = None if id == "a" else "a"
        return {"span_id": id, "parent_id": parent, "type": type, "timestamps": times, **payloads, **fields}

    metrics = {"prompt_tokens": 30, "completion_tokens": 5, "cost": 0.25}
    call = {"model": "gpt-x", "vendor": "openai", "params": {"temperature": 0.5}, "metrics": metrics}
    contexts = [{"document_id": "d1", "chunk_id": "0", "content": "3 copies"}]
    run = read(
        {
            "trace_id": "t1",
            "metadata": {"thread_id": "s1", "user_id": "u1", "labels": ["night"], "floor": 2},
            "spans": [
                span("a", "agent", "Is Dune in stock?", "Yes."),
                span("b", "llm", [fixtures.REQUEST], [ANSWER], **call),
                span(
                    "c",
                    "tool",
                    {"title": "Dune"},
                    name="find_book",
                    error={"message": "no shelf", "stacktrace": ["line 1"]},
                ),
                span("d", "rag", "Dune", contexts=contexts),
            ],
            "evaluations": [{"name": "faith", "score": 0.75, "passed": True, "details": "fine"}],
        }
    )
    check_model_call(run)
    agent, _, tool, search, answer = run.steps
    assert (agent.input, agent.output) == ({"task": "Is Dune in stock?"}, {"text": "Yes."})
    assert (answer.type, answer.output) == (StepType.OUTPUT, agent.output)
    assert (tool.status, tool.error, tool.call_id) == (StepStatus.ERROR, "no shelf", "c1")
    documents = [{"id": "d1", "content": "3 copies", "metadata": {"chunk_id": "0"}}]
    assert search.output == {"documents": documents}
    assert (run.tags, run.metadata["metadata"]) == (("night",), {"floor": 2})
    assert [(score.name, score.value, score.text) for score in run.judgements] == [("faith", 0.75, "passed: fine")]


@pytest.mark.parametrize("is_text", [False, True])
def test_spans_of_respan_are_a_trace(is_text: bool) -> None:
    def span(number: int, log_type: str, **fields: Any) -> dict[str, Any]:
        ids = {"trace_unique_id": "t1", "span_unique_id": f"s{number}", "span_parent_id": "s1" if number > 1 else None}
        times = {"start_time": f"2026-03-01T10:00:0{number}Z", "timestamp": "2026-03-01T10:00:09Z"}
        return {**ids, **times, "log_type": log_type, "thread_identifier": "s1", "customer_identifier": "u1", **fields}

    messages = {"prompt_messages": [fixtures.REQUEST], "completion_message": ANSWER}
    payloads = {"input": json.dumps([fixtures.REQUEST]), "output": json.dumps(ANSWER)}
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "cost": 0.25, "temperature": 0.5}
    call = {"model": "gpt-x", "provider_id": "openai", **usage, **(payloads if is_text else messages)}
    error = {"status_code": 500, "error_message": "no shelf"}
    run = read(
        span(1, "agent", span_name="desk", input="Is Dune in stock?"),
        span(2, "chat", **call),
        span(3, "tool", span_name="find_book", input='{"title": "Dune"}', **error),
    )
    check_model_call(run)
    assert (run.steps[0].input, run.steps[2].error) == ({"task": "Is Dune in stock?"}, "no shelf")


def test_log_of_respan_without_a_trace_is_a_run() -> None:
    log = {"id": "l1", "log_type": "chat", "prompt_messages": [fixtures.REQUEST], "timestamp": "2026-03-01T10:00:00Z"}
    run = read({**log, "completion_message": {"role": "assistant", "content": "Yes."}})
    assert (run.external_id, fixtures.answer_contents(run)) == ("l1", ["Yes."])


def test_rows_of_laminar_have_payloads_beside_their_attributes() -> None:
    def row(number: int, type: str, **fields: Any) -> dict[str, Any]:
        key, parent = (f"00000000-0000-0000-000{digit}-000000000000" for digit in (number, int(number > 1)))
        times = {"start_time": f"2026-03-01 10:00:0{number}.000000000", "end_time": "2026-03-01 10:00:09.000000000"}
        return {
            "trace_id": "t1",
            "span_id": key,
            "parent_span_id": parent,
            "name": "x",
            "span_type": type,
            **times,
            **fields,
        }

    names = {"request.model": "gpt-x", "system": "openai", "request.temperature": 0.5}
    counts = {"usage.input_tokens": 30, "usage.output_tokens": 5}
    attributes = json.dumps({f"gen_ai.{name}": value for name, value in {**names, **counts}.items()})
    payloads = {"input": json.dumps([fixtures.REQUEST]), "output": json.dumps([ANSWER])}
    run = read(
        row(1, "DEFAULT", attributes="{}", session_id="s1", user_id="u1", input='"Dune?"'),
        row(2, "LLM", attributes=attributes, total_cost=0.25, **payloads),
    )
    check_model_call(run)
    assert run.steps[1].parent == run.steps[0].key


@pytest.mark.parametrize("is_stream", [False, True])
def test_runs_of_developer_tools_have_their_calls(is_stream: bool) -> None:
    prompt = [{"role": "user", "content": [{"type": "text", "text": "Is Dune in stock?"}]}]
    tool = {"type": "function", "name": "find_book", "inputSchema": {"type": "object"}}
    call = {"toolCallId": "c1", "toolName": "find_book", "input": '{"title": "Dune"}'}
    output = {"toolCalls": [call]} if is_stream else {"content": [{"type": "tool-call", **call}]}
    usage = {"inputTokens": {"total": 30, "cacheRead": 10} if is_stream else 30, "outputTokens": 5}
    step = {
        **{
            "id": "st1",
            "run_id": "r1",
            "step_number": 1,
            "type": "generate",
            "model_id": "gpt-x",
            "provider": "openai",
        },
        "started_at": "2026-03-01T10:00:00Z",
        "duration_ms": 900,
        "input": json.dumps({"prompt": prompt, "tools": [tool], "temperature": 0.5, "toolChoice": {"type": "auto"}}),
        "output": json.dumps({**output, "finishReason": "tool-calls"}),
        "usage": json.dumps(usage),
    }
    failed = {**step, "id": "st2", "run_id": "r2", "output": None, "usage": None, "error": '{"message": "overloaded"}'}
    inner = {"id": "r2", "started_at": "2026-03-01T10:00:01Z", "parent_run_id": "r1", "parent_step_id": "st1"}
    run = read({"runs": [{"id": "r1", "started_at": "2026-03-01T10:00:00Z"}, inner], "steps": [step, failed]})
    outer, answered, nested, error = run.steps
    assert as_object(answered.input) == {
        "messages": [fixtures.REQUEST],
        "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
        "parameters": {"temperature": 0.5, "tool_choice": "auto"},
    }
    message = {"role": "assistant", "content": None, "tool_calls": CALLS}
    assert answered.output == {"message": message, "finish_reason": "tool_calls"}
    assert (answered.tokens_in, answered.tokens_cached) == (30, 10 if is_stream else None)
    assert [step.parent for step in run.steps] == [None, outer.key, answered.key, nested.key]
    assert (error.status, error.error) == (StepStatus.ERROR, "overloaded")


def test_part_of_a_trace_of_langwatch_keeps_what_is_known_of_the_trace() -> None:
    spans = [{"span_id": id, "parent_id": "a", "type": "tool", "timestamps": {}} for id in "bc"]
    run = read({"trace_id": "t1", "spans": spans, "evaluations": [{"name": "faith", "score": 0.75}]})
    assert [(score.name, score.value) for score in run.judgements] == [("faith", 0.75)]


@pytest.mark.parametrize(
    ("code", "status"), [("200", StepStatus.OK), (500, StepStatus.ERROR), ("9" * 5000, StepStatus.OK)]
)
def test_status_code_of_respan_may_be_any_text(code: Any, status: StepStatus) -> None:
    run = read({"trace_unique_id": "t", "span_unique_id": "s", "log_type": "function", "status_code": code})
    assert [step.status for step in run.steps] == [status]
