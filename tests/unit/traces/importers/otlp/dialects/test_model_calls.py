import json
from typing import Any

import pytest

from tests.unit.traces.importers.otlp.dialects.test_steps import run_of, step_of
from traces.core.vocabulary import StepType

MODEL = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-5-mini"}
USER: Any = {"role": "user", "content": "Where are they?"}
ITEMS: Any = [
    USER,
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"id":"A-1"}'},
    {"type": "function_call", "call_id": "c2", "name": "find", "arguments": '{"id":"B-2"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "in transit"},
    {"type": "function_call_output", "call_id": "c2", "output": "lost"},
]


def body(value: Any) -> Any:
    return value


def copies(*messages: tuple[str, str]) -> dict[str, str]:
    return {
        f"llm.input_messages.{index}.message.{name}": value
        for index, message in enumerate(messages)
        for name, value in zip(("role", "content"), message, strict=True)
    }


def test_instructions_beside_messages_are_compared_with_copies() -> None:
    request = {"model": "gpt-5-mini", "instructions": "Be brief.", "input": [USER]}
    attributes = {**MODEL, "input.value": json.dumps(request)}
    step = step_of({**attributes, **copies(("system", "Be brief."), ("user", "Where are they?"))})
    assert body(step.input)["messages"] == [{"role": "system", "content": "Be brief."}, USER]
    assert not any("input_messages" in name for name in step.attributes)
    other = step_of({**attributes, **copies(("system", "Be polite."), ("user", "Where are they?"))})
    assert other.attributes["llm.input_messages.0.message.content"] == "Be polite."


def test_request_recorded_as_items_has_parallel_calls_in_one_message() -> None:
    system = copies(("system", "Be brief."), ("user", "Where are they?"))
    step = step_of({**MODEL, "input.value": json.dumps(ITEMS), **system})
    messages = body(step.input)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["c1", "c2"]
    assert "input.value" not in step.attributes
    assert not any("input_messages" in name for name in step.attributes)


def test_thought_in_a_request_is_part_of_the_answer_after_it() -> None:
    thought = {"type": "reasoning", "id": "r-1", "summary": [{"type": "summary_text", "text": "Look it up."}]}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "In transit."}]}
    items = json.dumps({"model": "gpt-5-mini", "input": [USER, thought, answer, USER]})
    request: Any = step_of({**MODEL, "input.value": items}).input
    blocks = [{"type": "thinking", "thinking": "Look it up."}, {"type": "text", "text": "In transit."}]
    assert request["messages"] == [USER, {"role": "assistant", "content": blocks}, USER]


def test_printed_messages_are_replaced_by_their_copies() -> None:
    messages = ["ChatMessage(role='user', content='Where are they?')"]
    body = json.dumps({"messages": messages, "stop_sequences": ["END"], "tools_to_call_from": ["<object>"]})
    step = step_of({**MODEL, "input.value": body, **copies(("user", "Where are they?"))})
    assert step.input == {"messages": [USER], "parameters": {"stop": ["END"]}}
    assert step.attributes["input.value"] == body


@pytest.mark.parametrize("other", ["Where is it?", "Where are they?"])
def test_second_record_of_request_is_retained_if_it_differs(other: str) -> None:
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Where are they?"}]}])
    prompt = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": other}
    step = step_of({"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages, **prompt})
    assert body(step.input)["messages"] == [USER]
    assert ("gen_ai.prompt.0.content" in step.attributes) is (other == "Where is it?")


def test_blocks_of_older_traceloop_are_parsed() -> None:
    result = [{"type": "tool_result", "tool_use_id": "c1", "content": "in transit"}]
    prompt = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": json.dumps(result)}
    step = step_of({"llm.request.type": "completion", **prompt})
    assert body(step.input)["messages"] == [{"role": "tool", "content": "in transit", "tool_call_id": "c1"}]


def test_instructions_of_an_agent_come_first_once() -> None:
    system, user = {"type": "text", "content": "Be brief."}, {"type": "text", "content": "Where are they?"}
    for messages in ([("user", user)], [("system", system), ("user", user)]):
        step = step_of(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.system_instructions": json.dumps([system]),
                "gen_ai.input.messages": json.dumps([{"role": role, "parts": [part]} for role, part in messages]),
            }
        )
        assert body(step.input)["messages"] == [{"role": "system", "content": "Be brief."}, USER]


def test_metadata_of_run_is_parsed() -> None:
    assert run_of({"metadata": '{"team": "blue"}'}).metadata["metadata"] == {"team": "blue"}


def test_request_without_messages_is_an_attribute() -> None:
    tools = [{"type": "function", "name": "find", "parameters": {"type": "object"}}]
    attributes = {"gen_ai.request.temperature": "0.2", "gen_ai.tool.definitions": json.dumps(tools)}
    step = step_of({**MODEL, **attributes})
    assert step.input is None
    schemas = [{"name": "find", "parameters": {"type": "object"}}]
    assert step.attributes["request"] == {"parameters": {"temperature": 0.2}, "tools": schemas}


@pytest.mark.parametrize("text", ["Where are they?", "Where is it?"])
def test_messages_of_another_convention_are_dropped_only_if_equal(text: str) -> None:
    parts = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])}
    prompt = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": text}
    step = step_of({**MODEL, "input.value": json.dumps({"messages": [USER]}), **parts, **prompt})
    assert step.input == {"messages": [USER]}
    assert (step.attributes.keys() >= parts.keys() | prompt.keys()) is (text != USER["content"])


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"type": "required"}, "required"),
        ({"type": "tool", "toolName": "find"}, {"type": "function", "function": {"name": "find"}}),
    ],
)
def test_call_of_vercel_has_its_thoughts_and_its_choice_of_a_tool(choice: Any, expected: Any) -> None:
    attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": json.dumps([USER]),
        "ai.prompt.toolChoice": json.dumps(choice),
        "ai.response.reasoning": "Both.",
        "ai.response.text": "In transit.",
    }
    step = step_of(attributes)
    thought, text = body(step.output)["message"]["content"]
    assert (thought["thinking"], text["text"]) == ("Both.", "In transit.")
    assert body(step.input)["parameters"] == {"tool_choice": expected}
    assert step.attributes.keys().isdisjoint(attributes.keys() - {"ai.operationId"})


def test_object_of_vercel_is_the_output_of_the_span_around_its_call() -> None:
    step = step_of({"ai.operationId": "ai.generateObject", "ai.response.object": '{"open": 1}'})
    assert step.output == {"text": '{"open": 1}'}


def test_tokens_of_early_semantic_kernel_are_counted() -> None:
    step = step_of({**MODEL, "gen_ai.response.prompt_tokens": "30", "gen_ai.response.completion_tokens": "5"})
    assert (step.tokens_in, step.tokens_out) == (30, 5)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"ai.operationId": "ai.embed", "ai.value": '"Dune"'}, {"query": "Dune"}),
        ({"ai.operationId": "ai.rerank.doRerank", "input.value": "Dune"}, {"query": "Dune"}),
        (
            {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "Dune", "gen_ai.request.top_k": "3"},
            {"query": "Dune", "top_k": 3},
        ),
    ],
)
def test_searches_have_their_queries(attributes: Any, expected: Any) -> None:
    step = step_of(attributes)
    assert (step.type, step.input) == (StepType.RETRIEVAL, expected)
