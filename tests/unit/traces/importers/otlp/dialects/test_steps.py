import json
from typing import Any

import pytest

from tests.support.importing_fixtures import trace_run
from tests.unit.traces.importers.otlp.test_batches import protobuf, span
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import TOOL_DESCRIPTION, StepType

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
PROPERTIES = {"id": {"title": "Id", "type": "string"}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}}


def run_of(*spans: dict[str, str]) -> RecordedRun:
    return trace_run(protobuf(*(span(no, attributes=item) for no, item in enumerate(spans, 1))))


def step_of(attributes: dict[str, str]) -> RecordedStep:
    (step,) = run_of(attributes).steps
    return step


@pytest.mark.parametrize("schema", [SCHEMA, PROPERTIES])
def test_schema_of_tool_is_not_its_arguments(schema: Any) -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "find", "tool.parameters": json.dumps(schema)}
    step = step_of({**attributes, "input.value": '{"id": "A-1"}', "output.value": "ok"})
    assert (step.type, step.input, step.output) == (StepType.TOOL, {"id": "A-1"}, "ok")
    assert step.attributes["tool.parameters"] == json.dumps(schema)
    assert step_of(attributes).input is None


@pytest.mark.parametrize("arguments", [{"id": "A-1"}, {"filter": {"status": "open"}}, {}])
def test_parameters_of_tool_are_its_arguments(arguments: Any) -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "find", "tool.parameters": json.dumps(arguments)}
    step = step_of({**attributes, "input.value": "text"})
    assert step.input == arguments
    assert "tool.parameters" not in step.attributes


RESPONSE: Any = {
    "object": "response",
    "model": "gpt-5-mini",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Both."}]},
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"id":"A-1"}'},
        {"type": "function_call", "call_id": "c2", "name": "find", "arguments": '{"id":"B-2"}'},
    ],
}
CALLS = [
    {"id": "c1", "name": "find", "arguments": {"id": "A-1"}},
    {"id": "c2", "name": "find", "arguments": {"id": "B-2"}},
]


@pytest.mark.parametrize(
    "attributes",
    [
        {"output.value": json.dumps(RESPONSE)},
        {"langfuse.observation.output": json.dumps(RESPONSE["output"])},
        {
            "output.value": json.dumps({**RESPONSE, "output": [*RESPONSE["output"], {"type": "web_search_call"}]}),
            **{
                f"llm.output_messages.{no}.message.{name}": value
                for no, call in enumerate(RESPONSE["output"][1:])
                for name, value in {
                    "role": "assistant",
                    "tool_calls.0.tool_call.id": call["call_id"],
                    "tool_calls.0.tool_call.function.name": call["name"],
                    "tool_calls.0.tool_call.function.arguments": call["arguments"],
                }.items()
            },
        },
    ],
)
def test_parallel_calls_of_response(attributes: dict[str, str]) -> None:
    step = step_of({"openinference.span.kind": "LLM", "llm.model_name": "gpt-5-mini", **attributes})
    output: Any = step.output
    assert output["message"]["tool_calls"] == CALLS


def test_parallel_calls_in_next_request_are_one_message() -> None:
    user = {"role": "user", "content": "Where are they?"}
    results = [{"type": "function_call_output", "call_id": name, "output": "in transit"} for name in ("c1", "c2")]
    first = {"model": "gpt-5-mini", "input": [user]}
    second = {"model": "gpt-5-mini", "input": [user, *RESPONSE["output"], *results]}
    model = {"openinference.span.kind": "LLM"}
    run = run_of(
        {**model, "input.value": json.dumps(first), "output.value": json.dumps(RESPONSE)},
        {**model, "input.value": json.dumps(second), "output.value": "Both are in transit."},
    )
    answer: Any = run.steps[0].output
    request: Any = run.steps[1].input
    assert request["messages"][1] == answer["message"]
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool", "tool"]


@pytest.mark.parametrize(
    ("session", "user"),
    [
        ("session.id", "user.id"),
        ("traceloop.association.properties.session_id", "traceloop.association.properties.user_id"),
        ("ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.userId"),
        ("ai.settings.context.sessionId", "ai.settings.context.user"),
    ],
)
def test_session_and_user_are_metadata(session: str, user: str) -> None:
    metadata = run_of({session: "s-1", user: "u-7"}).metadata
    assert (metadata["session.id"], metadata["user.id"]) == ("s-1", "u-7")


@pytest.mark.parametrize(
    ("other", "is_retained"),
    [
        ({}, False),
        ({"total": 60, "input_cached_tokens": 0}, False),
        ({"completion_tokens_details": {"reasoning_tokens": 12}}, True),
        ({"completion_tokens_details": {"reasoning_tokens": 0}}, True),
        ({"input_audio_tokens": 5}, True),
    ],
)
def test_counts_without_columns_are_retained(other: Any, is_retained: bool) -> None:
    name = "langfuse.observation.usage_details"
    details = {"input": 40, "output": 20, **other}
    step = step_of({"langfuse.observation.type": "generation", name: json.dumps(details)})
    assert (step.tokens_in, step.tokens_out) == (40, 20)
    assert (name in step.attributes) is is_retained


def test_reranker_is_a_search() -> None:
    documents = {
        "reranker.output_documents.0.document.id": "d1",
        "reranker.output_documents.0.document.content": "Dune",
    }
    step = step_of(
        {"openinference.span.kind": "RERANKER", "reranker.query": "sand", "reranker.top_k": "1", **documents}
    )
    assert (step.type, step.input) == (StepType.RETRIEVAL, {"query": "sand", "top_k": 1})
    assert step.output == {"documents": [{"id": "d1", "content": "Dune"}]}


@pytest.mark.parametrize("text", ["Dune", "Emma"])
def test_output_beside_documents_is_retained_if_it_differs(text: str) -> None:
    documents = {"retrieval.documents.0.document.content": "Dune"}
    output = {"output.value": json.dumps({"documents": [{"content": text}]})}
    step = step_of({"openinference.span.kind": "RETRIEVER", "input.value": "sand", **documents, **output})
    assert step.output == {"documents": [{"id": "1", "content": "Dune"}]}
    assert ("output.value" in step.attributes) is (text == "Emma")


@pytest.mark.parametrize("output", ["3 copies", "4 copies"])
def test_second_result_is_retained_if_it_differs(output: str) -> None:
    call = {"gen_ai.tool.name": "find", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "3 copies"}
    step = step_of({**call, "output.value": output})
    assert step.output == "3 copies"
    assert ("output.value" in step.attributes) is (output == "4 copies")


def test_first_formats_of_pydantic_ai_name_arguments_and_response() -> None:
    step = step_of({"gen_ai.tool.name": "find", "tool_arguments": '{"id": "A-1"}', "tool_response": "ok"})
    assert (step.input, step.output) == ({"id": "A-1"}, "ok")


@pytest.mark.parametrize("name", ["gen_ai.tool.description", "tool.description"])
def test_tool_has_its_recorded_description(name: str) -> None:
    step = step_of({"gen_ai.tool.name": "find", name: "Finds an order."})
    assert step.attributes[TOOL_DESCRIPTION] == "Finds an order."


def test_output_of_agent_is_the_text_of_its_messages() -> None:
    text = {"type": "text", "content": "It is sunny."}
    call = {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"id": "A-1"}}
    agent = {"gen_ai.operation.name": "invoke_agent"}
    output = json.dumps([{"role": "assistant", "parts": [text], "finish_reason": "stop"}])
    assert step_of({**agent, "gen_ai.output.messages": output}).output == {"text": "It is sunny."}
    output = json.dumps([{"role": "assistant", "parts": [text, call]}])
    assert step_of({**agent, "gen_ai.output.messages": output}).output == {
        "text": "It is sunny.",
        "messages": [{"role": "assistant", "content": "It is sunny.", "tool_calls": CALLS[:1]}],
    }


def test_structured_output_of_agent_is_no_message() -> None:
    output = json.dumps({"role": "admin", "content": "all"})
    assert step_of({"gen_ai.operation.name": "invoke_agent", "output.value": output}).output == {"text": output}


def test_instructions_of_response_are_a_message_only() -> None:
    request = {"model": "gpt-5-mini", "instructions": "Be brief.", "input": [{"role": "user", "content": "Hi"}]}
    step = step_of(
        {
            "openinference.span.kind": "LLM",
            "input.value": json.dumps({**request, "temperature": 0.5}),
            "llm.invocation_parameters": json.dumps({"instructions": "Be brief.", "temperature": 0.5}),
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "Be brief.",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.content": "Hi",
        }
    )
    system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}
    assert step.input == {"messages": [system, user], "parameters": {"temperature": 0.5}}
    assert not [name for name in step.attributes if name.startswith("llm.input")]


def test_answer_of_langfuse_without_role_has_its_calls() -> None:
    call = {"function": {"name": "find", "arguments": '{"id": "A-1"}'}}
    output = json.dumps({"tool_calls": [call]})
    step = step_of({"langfuse.observation.type": "generation", "langfuse.observation.output": output})
    message = {"role": "assistant", "content": None, "tool_calls": [{**CALLS[0], "id": ""}]}
    assert step.output == {"message": message}


def test_agent_of_pydantic_ai_begins_with_its_first_messages() -> None:
    part = {"type": "text", "content": "Hi"}
    messages = [{"role": role, "parts": [part]} for role in ("user", "assistant", "user")]
    attributes = {"gen_ai.operation.name": "invoke_agent", "pydantic_ai.all_messages": json.dumps(messages)}
    step = step_of({**attributes, "gen_ai.system_instructions": json.dumps([part]), "final_result": "Bye"})
    assert step.input == {"messages": [{"role": role, "content": "Hi"} for role in ("system", "user")]}
    assert step.output == {"text": "Bye"}


def test_result_of_latitude() -> None:
    call = {"gen_ai.tool.name": "find", "gen_ai.tool.call.arguments": '{"title": "Dune"}'}
    assert step_of({**call, "gen_ai.tool.result.value": "3 copies"}).output == "3 copies"
