"""Observations of Langfuse that came from spans of OpenTelemetry."""

from typing import Any, Final

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

TIMES: Final = {"startTime": "2026-03-01T10:00:00Z", "endTime": "2026-03-01T10:00:01Z"}
# Langfuse parses what looks like JSON, also an id.
ID: Final = ["run_1", "call_1"]
CALL: Final = {"type": "tool_call", "id": ID, "name": "find_book", "arguments": {}}
MODEL: Final = {"type": "GENERATION", "model": "gpt-4o", "input": "Dune?"}


def run_of(*observations: dict[str, Any]) -> RecordedRun:
    (run,) = fixtures.read("langfuse", [{"trace": {"id": "spans"}, "observations": [*observations]}])
    return run


def test_attributes_state_tools_reasons_and_calls() -> None:
    attributes = {
        "gen_ai.tool.definitions": '[{"type": "function", "function": {"name": "find_book"}}]',
        "gen_ai.response.finish_reasons": ["tool_calls"],
    }
    tool_attributes = {"gen_ai.tool.name": "find_book", "gen_ai.tool.call.id": ID}
    answer = [{"role": "assistant", "parts": [CALL]}]
    run = run_of(
        {"id": "m", **TIMES, **MODEL, "output": answer, "metadata": {"attributes": attributes}},
        {"id": "t", **TIMES, "type": "SPAN", "name": "tool.find_book", "metadata": {"attributes": tool_attributes}},
    )
    model, tool = run.steps[1:]
    id = '["run_1","call_1"]'
    calls = [{"id": id, "name": "find_book", "arguments": {}}]
    assert as_object(model.input)["tools"] == [{"name": "find_book"}]
    assert model.output == {
        "message": {"role": "assistant", "content": None, "tool_calls": calls},
        "finish_reason": "tool_calls",
    }
    assert (tool.type, tool.tool_name, tool.call_id) == (StepType.TOOL, "find_book", id)


def test_calls_inside_the_content_are_those_of_an_answer() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "find_book", "arguments": {"title": "Dune"}}}
    result = {"role": "tool", "content": "3 copies"}
    request = [{"role": "tool", "content": [call]}, result]
    model = run_of({"id": "m", **TIMES, **MODEL, "input": request, "output": "Yes"}).steps[1]
    calls = [{"id": "call_1", "name": "find_book", "arguments": {"title": "Dune"}}]
    answer = {"role": "assistant", "content": None, "tool_calls": calls}
    assert as_object(model.input)["messages"] == [answer, result]


def test_download_that_lists_observations_twice_keeps_their_payloads() -> None:
    listed = {"id": "m", **TIMES, "type": "GENERATION", "model": "gpt-4o", "input": None, "output": None}
    tool = '{"description": "Finds", "parameters": "{\\"type\\": \\"object\\"}"}'
    whole = {**listed, "input": "Dune?", "output": "Yes", "toolDefinitions": {"find_book": tool}}
    export = {"trace": {"id": "t", "observations": [listed]}, "observations": [whole]}
    (run,) = fixtures.read("langfuse", [export])
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert as_object(model.input) == {
        "messages": [{"role": "user", "content": "Dune?"}],
        "tools": [{"name": "find_book", "description": "Finds", "parameters": {"type": "object"}}],
    }
    assert model.output == {"message": {"role": "assistant", "content": "Yes"}}


def test_loop_of_vercel_ai_sdk_is_no_model_call() -> None:
    calls = '[{"toolCallId": "c1", "toolName": "find_book", "input": "{\\"title\\": \\"Dune\\"}"}]'
    loop = {"attributes": {"ai.operationId": "ai.generateText"}}
    call = {"attributes": {"ai.operationId": "ai.generateText.doGenerate", "ai.response.finishReason": "tool-calls"}}
    observations = [
        {"id": "l", **TIMES, **MODEL, "input": '{"prompt": "Dune?"}', "output": calls, "metadata": loop},
        {"id": "m", **TIMES, **MODEL, "parentObservationId": "l", "output": calls, "metadata": call},
    ]
    run = run_of(*observations)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert model.key == "m"
    called = [{"id": "c1", "name": "find_book", "arguments": {"title": "Dune"}}]
    message = {"role": "assistant", "content": None, "tool_calls": called}
    assert model.output == {"message": message, "finish_reason": "tool_calls"}


def test_prompt_of_a_generation_is_its_request() -> None:
    model = run_of({"id": "m", **TIMES, **MODEL, "input": {"prompt": "Dune?", "system": "Be kind."}}).steps[1]
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Dune?"}]
    assert as_object(model.input) == {"messages": messages}


def test_tools_between_messages_are_tools() -> None:
    function = {"name": "find_book", "description": "Finds", "parameters": {"type": "object"}}
    tool = {"role": "tool", "content": {"type": "function", "function": function}}
    user = {"role": "user", "content": "Dune?"}
    model = run_of({"id": "m", **TIMES, **MODEL, "input": [user, tool]}).steps[1]
    assert as_object(model.input) == {"messages": [user], "tools": [function]}


def test_tools_of_pydantic_ai_are_tools() -> None:
    tool = {"name": "find_book", "description": "Finds", "parameters_json_schema": {"type": "object"}, "strict": True}
    attributes = {"model_request_parameters": {"function_tools": [tool], "output_tools": []}}
    model = run_of({"id": "m", **TIMES, **MODEL, "metadata": {"attributes": attributes}}).steps[1]
    function = {"name": "find_book", "description": "Finds", "parameters": {"type": "object"}}
    assert as_object(model.input)["tools"] == [function]


def test_usage_of_an_agent_around_model_calls_is_not_counted_twice() -> None:
    usage = {"usageDetails": {"input": 30, "output": 4}, "costDetails": {"total": 0.5}}
    agent = {"id": "a", **TIMES, "type": "AGENT", "name": "invoke_agent", **usage}
    run = run_of(agent, {"id": "m", "parentObservationId": "a", **TIMES, **MODEL, **usage})
    assert [(step.key, step.tokens_in, step.tokens_out) for step in run.steps[1:]] == [("a", None, None), ("m", 30, 4)]
    sums = run.steps[1].attributes["sum_of_calls"]
    assert sums == {"tokens_in": 30, "tokens_out": 4, "cost_usd": "0.50000000"}
    # Without its calls, nothing else states what it used.
    assert run_of(agent).steps[1].tokens_in == 30


def test_arguments_of_a_function_are_its_request() -> None:
    for given, text in (
        ({"content": "Dune?"}, "Dune?"),
        ({"args": ["Dune?"]}, "Dune?"),
        ({"question": "Dune?"}, '{"question":"Dune?"}'),
    ):
        model = run_of({"id": "m", **TIMES, **MODEL, "input": given}).steps[1]
        assert as_object(model.input) == {"messages": [{"role": "user", "content": text}]}


def test_traces_beside_observations_are_read_with_them() -> None:
    trace = {"id": "t", "name": "shop", "timestamp": TIMES["startTime"], "environment": "test", "tags": []}
    (run,) = fixtures.read(
        "langfuse", [{"traces": [trace], "observations": [{"id": "m", "traceId": "t", **TIMES, **MODEL}]}]
    )
    assert [step.key for step in run.steps] == ["t", "m"]


def test_configuration_of_gemini_has_instructions_and_tools() -> None:
    tool = {"name": "find_book", "description": "Find a book."}
    configuration = {"system_instruction": "Be brief.", "temperature": 0, "tools": [{"function_declarations": [tool]}]}
    request = {"contents": [{"role": "user", "parts": [{"text": "Dune?"}]}], "config": configuration}
    answer = {"content": {"role": "model", "parts": [{"text": "B-7"}]}, "usage_metadata": {"prompt_token_count": 9}}
    step = run_of({"id": "m", **TIMES, "type": "GENERATION", "input": request, "output": answer}).steps[-1]
    assert as_object(step.input) == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Dune?"}],
        "tools": [tool],
        "parameters": {"temperature": 0},
    }
    assert step.tokens_in == 9


def test_embedding_keeps_its_model() -> None:
    step = run_of({"id": "e", **TIMES, "type": "EMBEDDING", "model": "embed-1", "input": "Dune"}).steps[-1]
    assert step.attributes["model"] == "embed-1"


def test_cached_tokens_are_in_the_input_if_the_total_shows_it() -> None:
    counts = {"input": 90, "output": 10, "cache_read_input_tokens": 60}
    for total, expected in ((100, 90), (160, 150), (None, 150)):
        usage = {**counts, **({"total": total} if total else {})}
        step = run_of({"id": "m", **TIMES, **MODEL, "usageDetails": usage}).steps[-1]
        assert (step.tokens_in, step.tokens_cached) == (expected, 60)
