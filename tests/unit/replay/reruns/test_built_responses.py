"""Responses in a provider's format, from the answers of steps."""

import json

import pytest

from cockpit.gateway.answers import read_answer, read_stream
from replay.reruns.core.built_responses import StepAnswer, build_body
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.tracing.client_calls import model_answer

CALL: JSONObject = {"id": "c1", "name": "look", "arguments": {"city": "Zürich", "days": 3}}


APIS = ["openai.chat", "openai.responses", "anthropic.messages", "google.generate_content", "ollama.chat"]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "Grüezi"},
        {"role": "assistant", "content": "I look", "tool_calls": [CALL]},
        {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    ],
)
def test_response_is_read_as_the_answer_it_was_built_from(api: str, is_streamed: bool, message: JSONValue) -> None:
    answer = StepAnswer(output={"message": message}, model="m1", id="1", tokens_in=3, tokens_out=2, tokens_cached=1)
    body = build_body(api, answer, is_streamed=is_streamed, states_usage=True)
    assert body is not None
    if is_streamed:
        content = read_stream(api, body)
        assert content.has_ended
        response = content.answer
    else:
        response = read_answer(api, body)
    result = model_answer({"api": api, "response": response})
    assert result.output is not None
    # Ollama's clients know no ids of calls, and no cached tokens.
    has_ids = api != "ollama.chat"
    assert result.output["message"] == (message if has_ids else _without_ids(message))
    tokens = (result.usage.tokens_in, result.usage.tokens_out, result.usage.tokens_cached)
    assert tokens == (3, 2, 1 if has_ids else None)


def _without_ids(message: JSONValue) -> JSONObject:
    fields = as_object(message)
    calls: list[JSONValue] = [{**call, "id": ""} for call in as_objects(fields.get("tool_calls"))]
    return {**fields, "tool_calls": calls} if calls else fields


@pytest.mark.parametrize("is_streamed", [True, False])
def test_completion_of_a_prompt_is_built(is_streamed: bool) -> None:
    answer = StepAnswer(
        output={"message": {"role": "assistant", "content": "Grüezi"}}, model="m", id="1", tokens_in=3, tokens_out=2
    )
    body = build_body("ollama.generate", answer, is_streamed=is_streamed, states_usage=True)
    lines = [json.loads(line) for line in (body or b"").splitlines()]
    assert ["".join(line["response"] for line in lines), lines[-1]["done"], len(lines)] == [
        "Grüezi",
        True,
        1 + is_streamed,
    ]


@pytest.mark.parametrize("api", APIS)
def test_cut_answer_says_so_in_every_api(api: str) -> None:
    output: JSONObject = {"message": {"role": "assistant", "content": "Grü"}, "finish_reason": "length"}
    answer = StepAnswer(output=output, model="m1", id="1", tokens_in=3, tokens_out=2)
    body = build_body(api, answer, is_streamed=False, states_usage=True)
    assert body is not None
    result = model_answer({"api": api, "response": read_answer(api, body)})
    assert result.output == output


def test_arguments_have_the_order_of_the_schema() -> None:
    properties: JSONObject = {"days": {"type": "integer"}, "city": {"type": "string"}}
    tool: JSONObject = {"name": "look", "parameters": {"type": "object", "properties": properties}}
    message: JSONObject = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    answer = StepAnswer(output={"message": message}, model="m1", id="1", tokens_in=0, tokens_out=0, tools=[tool])
    body = build_body("openai.chat", answer, is_streamed=False, states_usage=False)
    assert body is not None
    assert rb"{\"days\":3,\"city\":\"Z" in body


def test_answer_in_an_unknown_form_is_not_built() -> None:
    blocks: JSONValue = [{"type": "thinking", "thinking": "hm"}]
    answer = StepAnswer(output={"message": {"content": blocks}}, model="m1", id="1", tokens_in=0, tokens_out=0)
    assert build_body("openai.chat", answer, is_streamed=False, states_usage=False) is None
