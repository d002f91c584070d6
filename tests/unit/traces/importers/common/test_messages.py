"""Normal form of messages, tools, parameters, usage and providers from every client."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import importing_fixtures as fixtures
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import (
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_request,
    normalize_usage,
)
from traces.importers.common.names import find_model_name
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.errors import BadFile

CONVERSATION = [fixtures.SYSTEM, fixtures.REQUEST, fixtures.CALL, fixtures.RESULT]
WHOLE_CONVERSATIONS = [
    "langsmith_batch.json",
    "langsmith_multipart.body",
    "openai_messages.json",
    "otlp_genai.json",
    "otlp_langfuse.json",
    "otlp_openinference.json",
    "otlp_traceloop.json",
    "otlp_vercel.json",
    "langfuse_blob.jsonl",
    "langfuse_table.csv",
    "langfuse_trace.json",
    "otel_console.log",
    "phoenix_spans.jsonl",
    "phoenix_table.json",
]


@pytest.mark.parametrize("name", WHOLE_CONVERSATIONS)
def test_clients_give_same_messages(name: str) -> None:
    first, second = fixtures.steps(fixtures.run(name), StepType.MODEL)
    assert isinstance(first.input, dict)
    assert isinstance(second.input, dict)
    assert isinstance(first.output, dict)
    assert isinstance(second.output, dict)
    assert first.input["messages"] == CONVERSATION[:2]
    assert second.input["messages"] == CONVERSATION
    assert second.output["message"] == fixtures.ANSWER
    assert digest(first.output["message"]) == digest(second.input["messages"][2])


@pytest.mark.parametrize("name", WHOLE_CONVERSATIONS)
def test_clients_give_same_tools_and_parameters(name: str) -> None:
    model_input: Any = fixtures.steps(fixtures.run(name), StepType.MODEL)[0].input
    (tool,) = model_input["tools"]
    assert tool["name"] == "find_book"
    assert tool["parameters"]["required"] == ["title"]
    assert model_input["parameters"] == {"temperature": 0.2}


ONE_CALL: list[tuple[str, JSONValue]] = [
    (
        "openai",
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "find_book", "arguments": '{"title":"Dune"}'}}
            ],
        },
    ),
    (
        "anthropic",
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_1", "name": "find_book", "input": {"title": "Dune"}}],
        },
    ),
    (
        "genai",
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "call_1", "name": "find_book", "arguments": {"title": "Dune"}}],
        },
    ),
    (
        "gemini",
        {
            "role": "model",
            "parts": [{"functionCall": {"id": "call_1", "name": "find_book", "args": {"title": "Dune"}}}],
        },
    ),
    (
        "langchain",
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "AIMessage"],
            "kwargs": {"content": "", "tool_calls": [{"id": "call_1", "name": "find_book", "args": {"title": "Dune"}}]},
        },
    ),
    (
        "responses",
        {"type": "function_call", "call_id": "call_1", "name": "find_book", "arguments": '{"title": "Dune"}'},
    ),
    (
        "agentdojo",
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"function": "find_book", "args": {"title": "Dune"}, "id": "call_1", "placeholder_args": None}
            ],
        },
    ),
]


@pytest.mark.parametrize(("client", "message"), ONE_CALL)
def test_clients_give_same_tool_call(client: str, message: JSONValue) -> None:
    (normal,) = normalize_messages(message)
    calls: Any = normal["tool_calls"]
    assert normal["role"] == "assistant"
    assert normal["content"] is None
    assert (calls[0]["name"], calls[0]["arguments"]) == ("find_book", {"title": "Dune"})


def test_tool_results_become_separate_messages() -> None:
    blocks: JSONValue = [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one"}]},
        {"type": "tool_result", "tool_use_id": "b", "content": "two"},
        {"type": "text", "text": "and now?"},
    ]
    assert normalize_messages([{"role": "user", "content": blocks}]) == [
        {"role": "tool", "content": "one", "tool_call_id": "a"},
        {"role": "tool", "content": "two", "tool_call_id": "b"},
        {"role": "user", "content": "and now?"},
    ]


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ({"type": "text", "value": "sunny"}, "sunny"),
        ({"type": "json", "value": {"sky": "blue"}}, '{"sky":"blue"}'),
        ({"type": "error-text", "value": "no such city"}, "no such city"),
        ({"type": "execution-denied", "reason": "not now"}, "not now"),
        ({"type": "content", "value": [{"type": "text", "text": "sunny"}]}, "sunny"),
        ({"type": "weather", "value": 3}, '{"type":"weather","value":3}'),
    ],
)
def test_results_of_vercel_are_what_the_model_receives(output: JSONValue, content: str) -> None:
    block: JSONValue = {"type": "tool-result", "toolCallId": "a", "toolName": "find", "output": output}
    [message] = normalize_messages([{"role": "tool", "content": [block]}])
    assert message == {"role": "tool", "content": content, "tool_call_id": "a"}


@pytest.mark.parametrize("content", ['{"answer": 1,  "b": 2}', "[1, 2]", '"quoted"', "plain", "{not json"])
def test_text_resembling_json_stays_text(content: str) -> None:
    answer = normalize_answer(content).output
    assert answer is not None
    assert answer["message"] == {"role": "assistant", "content": content}
    assert normalize_messages(content) == [{"role": "user", "content": content}]


def test_images_and_unknown_blocks_stay() -> None:
    image: JSONObject = {"type": "image_url", "image_url": {"url": "data:image/png;base64,xx"}}
    (message,) = normalize_messages({"role": "user", "content": [{"type": "text", "text": "look"}, image]})
    assert message["content"] == [{"type": "text", "text": "look"}, image]


def test_system_instructions_come_first() -> None:
    body: JSONObject = {"system": "Be brief.", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 5}
    assert normalize_request(body) == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
        "parameters": {"max_tokens": 5},
    }


def test_tool_schemas_become_openai_schemas() -> None:
    schema: JSONObject = {"type": "object", "properties": {}}
    expected = [{"name": "f", "description": "does f", "parameters": schema}]
    assert normalize_tools([{"name": "f", "description": "does f", "input_schema": schema}]) == expected
    assert (
        normalize_tools([{"functionDeclarations": [{"name": "f", "description": "does f", "parameters": schema}]}])
        == expected
    )


def test_parameters_parse_numbers_and_drop_infinity() -> None:
    given_parameters: JSONObject = {"temperature": "0.2", "max_tokens": "inf", "topP": 1, "seed": "7", "stop": ["x"]}
    assert normalize_parameters(given_parameters) == {"temperature": 0.2, "top_p": 1, "seed": 7, "stop": ["x"]}


def test_input_tokens_include_cached_tokens() -> None:
    anthropic = normalize_usage(
        {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}, "/usage"
    )
    openai = normalize_usage({"prompt_tokens": 112, "prompt_tokens_details": {"cached_tokens": 100}}, "/usage")
    assert (anthropic.tokens_in, anthropic.tokens_cached) == (openai.tokens_in, openai.tokens_cached) == (112, 100)
    gemini: JSONObject = {"prompt_token_count": 112, "cached_content_token_count": 100, "thoughts_token_count": 1}
    counts = normalize_usage({**gemini, "candidates_token_count": 2}, "/usage")
    assert (counts.tokens_in, counts.tokens_out, counts.tokens_cached) == (112, 3, 100)


@pytest.mark.parametrize("usage", [{"input": 26, "output": 7, "total": 39}, {"input": 30, "output": 9, "total": 39}])
def test_tokens_of_langfuse_include_cached_and_reasoning(usage: JSONObject) -> None:
    details: JSONObject = {"input_cached_tokens": 4, "output_reasoning_tokens": 2, "unit": "TOKENS"}
    counts = normalize_usage({**usage, **details}, "/usage")
    assert (counts.tokens_in, counts.tokens_out, counts.tokens_cached) == (30, 9, 4)


def test_empty_parameters_are_dropped() -> None:
    assert normalize_parameters({"response_format": "", "seed": 7}) == {"seed": 7}


def test_zero_cost_is_unknown() -> None:
    assert normalize_usage({"input_tokens": 3, "cost": 0.0}, "").cost_usd is None


@pytest.mark.parametrize("count", [-1, 2**40, "many"])
def test_invalid_token_count_is_refused(count: JSONValue) -> None:
    with pytest.raises(BadFile, match="token count") as refusal:
        normalize_usage({"input_tokens": count}, "/usage")
    assert refusal.value.where == "/usage"


@pytest.mark.parametrize(
    ("name", "model", "provider"),
    [
        ("openai.chat", "", "openai"),
        ("gcp.vertex_ai", "", "google"),
        ("", "claude-sonnet-4-5", "anthropic"),
        ("", "my-model", ""),
        ("Groq", "llama", "groq"),
        ("unknown", "gpt-4", ""),
    ],
)
def test_providers_have_one_name(name: str, model: str, provider: str) -> None:
    assert normalize_provider(name, model) == provider


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("2026-02-21T00_37_20_shop_llm_agent_gpt-4.1-mini_user_simulator_gpt-5-mini", "gpt-4.1-mini"),
        ("[Shop][Base][Gpt-4.1-mini][2026]", "gpt-4.1-mini"),
        ("_gemini-3-flash__base__all_", "gemini-3-flash"),
        ("gpt-4o against claude-opus-4", ""),
        ("shop", ""),
        ("video1 of 3", ""),
    ],
)
def test_only_unambiguous_model_names_are_read(name: str, model: str) -> None:
    assert find_model_name(name) == model


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["user", "assistant", "tool", "text", "tool_use", "tool_result", "function_call"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "parts",
                    "tool_calls",
                    "function",
                    "name",
                    "id",
                    "arguments",
                    "input",
                    "kwargs",
                    "lc",
                    "choices",
                    "message",
                    "generations",
                    "functionCall",
                    "usage",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_any_json_becomes_normal_messages(value: JSONValue) -> None:
    for message in normalize_messages(value):
        assert message["role"] in {"system", "user", "assistant", "tool"}
        assert message.keys() <= {"role", "content", "tool_calls", "tool_call_id", "name"}
        assert digest(message)


@given(json_values)
def test_normalizing_twice_changes_nothing(value: JSONValue) -> None:
    messages = normalize_messages(value)
    assert normalize_messages([dict(message) for message in messages]) == messages


@given(json_values)
def test_any_json_can_be_an_answer(value: JSONValue) -> None:
    # `usage` may be invalid.
    with suppress(BadFile):
        answer = normalize_answer(value)
        assert answer.output is None or isinstance(answer.output["message"], dict)


def test_pair_of_role_and_text_is_one_message() -> None:
    pairs: list[JSONValue] = [["user", "Is Dune in stock?"], ["ai", "Yes."]]
    assert normalize_messages(pairs) == [
        {"role": "user", "content": "Is Dune in stock?"},
        {"role": "assistant", "content": "Yes."},
    ]
    assert normalize_messages(["user", "friendly"]) == [{"role": "user", "content": "friendly"}]


def test_messages_of_langchain_in_their_own_envelope() -> None:
    call: JSONObject = {"name": "find", "args": {"id": 1}, "id": "c1", "type": "tool_call"}
    # LangChain's message of a Responses answer contains its calls as items, too.
    item: JSONObject = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"id": 1}'}
    messages: list[JSONValue] = [
        {"type": "human", "data": {"content": "Hi", "type": "human", "name": None}},
        {"type": "ai", "data": {"content": [item], "tool_calls": [call], "type": "ai"}},
        {"type": "tool", "data": {"content": "sent", "tool_call_id": "c1", "type": "tool"}},
    ]
    assert normalize_messages(messages) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "find", "arguments": {"id": 1}}]},
        {"role": "tool", "content": "sent", "tool_call_id": "c1"},
    ]


def test_call_that_the_provider_made_has_its_arguments() -> None:
    facts: JSONObject = {"type": "code_interpreter", "code": "1+1"}
    call: JSONObject = {"type": "server_tool_call", "id": "s1", "name": "code", "server_tool_call": facts}
    [message] = normalize_messages({"role": "assistant", "parts": [call]})
    assert message["tool_calls"] == [{"id": "s1", "name": "code", "arguments": facts}]


def test_parts_of_geminis_client_for_python() -> None:
    call: JSONObject = {"function_call": {"name": "find", "args": {"id": 1}}}
    result: JSONObject = {"function_response": {"name": "find", "response": {"result": "sent"}}}
    messages: list[JSONValue] = [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    assert normalize_messages(messages) == [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "", "name": "find", "arguments": {"id": 1}}]},
        {"role": "tool", "content": '{"result":"sent"}'},
    ]


ARGUMENTS = st.sampled_from(["", "{}", '{"a": 1}', '{"args": [], "kwargs": {"b": 2}}', "[1]", "not JSON", '"text"'])
FUNCTIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"name": st.sampled_from(["", "get_order"]), "arguments": ARGUMENTS | st.just({"a": 1}) | st.none()}
)
CALLS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"id": st.sampled_from(["", "call-1", 7]), "type": st.just("function"), "function": FUNCTIONS | st.none()}
)


@given(st.sampled_from(["assistant", "user", 1]), st.sampled_from([None, "", "text", []]), st.lists(CALLS, max_size=2))
def test_plain_answers_with_calls_are_read_like_others(role: Any, content: Any, calls: list[Any]) -> None:
    message: JSONObject = {"role": role, "content": content, "tool_calls": [*calls]}
    # With a field that is no part of a message, it is no longer a plain one.
    assert normalize_messages(message) == normalize_messages({**message, "refusal": None})


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_beside_an_answer_are_part_of_it(name: str) -> None:
    citation: JSONObject = {"type": "url_citation", "url_citation": {"url": "https://shop"}}
    message: JSONObject = {"role": "assistant", "content": "Yes", name: "three are left", "annotations": [citation]}
    content: JSONValue = [
        {"type": "thinking", "thinking": "three are left"},
        {"type": "text", "text": "Yes", "citations": [citation]},
    ]
    answer = normalize_answer({"choices": [{"message": message}]}).output
    assert answer == {"message": {"role": "assistant", "content": content}}
    assert normalize_messages([message]) == [{"role": "assistant", "content": content}]


def test_refusal_is_content_of_an_answer() -> None:
    (message,) = normalize_messages([{"role": "assistant", "content": None, "refusal": "No."}])
    assert message == {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
