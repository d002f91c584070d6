"""The Agent Development Kit's own tracer: two spans of each call, of which the outer one has the messages."""

import json
from typing import Any

from tests.support import importing_fixtures as fixtures
from tests.unit.traces.importers.otlp.calls.test_client_spans import run_of, span
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

SCOPE = "gcp.vertex.agent"
QUESTION = {"role": "user", "parts": [{"text": "Is Dune in stock?"}]}
DECLARATION = {"name": "find", "parameters_json_schema": {"type": "object", "properties": {"title": {}}}}
REQUEST = {
    "model": "gemini-3",
    "config": {
        "system_instruction": "You keep a bookshop.",
        "temperature": 0.5,
        "tools": [{"function_declarations": [DECLARATION]}],
        "http_options": {"headers": {"x-client": "shop"}},
    },
    "contents": [QUESTION],
}
CALL = {"function_call": {"id": "c-1", "name": "find", "args": {"title": "Dune"}}}
RESPONSE = {
    "model_version": "gemini-3-001",
    "content": {"role": "model", "parts": [CALL]},
    "finish_reason": "STOP",
    "usage_metadata": {"prompt_token_count": 30, "candidates_token_count": 5, "thoughts_token_count": 2},
}
COUNTS = {"gen_ai.request.model": "gemini-3", "gen_ai.usage.input_tokens": "30", "gen_ai.usage.output_tokens": "7"}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "find",
    "gen_ai.tool.call.id": "c-1",
    "gcp.vertex.agent.tool_call_args": '{"title": "Dune"}',
    "gcp.vertex.agent.tool_response": '{"result": "3 copies"}',
}


def recorded(request: str, response: str, *others: Any) -> RecordedRun:
    outer = {"gen_ai.system": SCOPE, "gcp.vertex.agent.session_id": "s-1", **COUNTS}
    contents = {"gcp.vertex.agent.llm_request": request, "gcp.vertex.agent.llm_response": response}
    inner = {"gen_ai.operation.name": "generate_content", "gen_ai.system": "gemini", **COUNTS}
    return run_of(
        span(1, SCOPE, {"gen_ai.operation.name": "invoke_agent"}, parent=0),
        span(2, SCOPE, {**outer, **contents}, start=1, end=6),
        span(3, SCOPE, inner, parent=2, start=2, end=5),
        span(4, SCOPE, TOOL, parent=3, start=4, end=5),
        *others,
    )


def test_calls_have_their_messages_tools_and_settings() -> None:
    run = recorded(json.dumps(REQUEST), json.dumps(RESPONSE))
    _, model, tool = run.steps
    request: Any = model.input
    output: Any = model.output
    response: Any = model.attributes
    assert request["messages"] == [{"role": "system", "content": "You keep a bookshop."}, fixtures.REQUEST]
    assert (request["parameters"], request["tools"][0]["name"]) == ({"temperature": 0.5}, "find")
    assert output["message"]["tool_calls"] == [{"id": "c-1", "name": "find", "arguments": {"title": "Dune"}}]
    assert (output["finish_reason"], response["response"]) == ("stop", {"model_version": "gemini-3-001"})
    assert (model.provider, model.tokens_in, model.tokens_out) == ("google", 30, 7)
    assert (tool.parent, tool.input, tool.output) == (model.key, {"title": "Dune"}, {"result": "3 copies"})
    assert run.metadata["gcp.vertex.agent.session_id"] == "s-1"


def test_tokens_count_once_without_messages() -> None:
    run = recorded("{}", "{}")
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.tokens_in, model.input, model.output) == (30, None, None)
    client_span: Any = model.attributes["client_span"]
    assert client_span["span_id"][-1] == "3"


def test_results_of_parallel_calls_are_no_tool() -> None:
    merged = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}
    run = recorded("{}", "{}", span(5, SCOPE, merged, parent=3, start=5))
    assert [step.tool_name for step in fixtures.steps(run, StepType.TOOL)] == ["find"]
