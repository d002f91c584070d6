"""Requests in the protocols of Anthropic and OpenAI: token limits, and content that a protocol rejects."""

import pytest

from replay.live.providers.anthropic_protocol import message_bodies, request
from replay.live.providers.openai_protocol import message_body
from replay.live.providers.types import ModelCall
from traces.core.json_types import JSONObject


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({}, 4096),
        ({"max_tokens": 64}, 64),
        ({"max_completion_tokens": 32}, 32),
        ({"max_tokens": 0}, 0),
        ({"max_tokens": None, "max_completion_tokens": 8}, 8),
    ],
)
def test_recorded_token_limit_is_sent(parameters: JSONObject, limit: int) -> None:
    input: JSONObject = {"messages": [{"role": "user", "content": "Hello"}], "parameters": parameters}
    arguments, _ = request(ModelCall(provider="claude", model="claude-x", input=input))
    assert arguments["max_tokens"] == limit
    assert input["parameters"] == parameters


def test_thoughts_of_other_providers_are_not_sent() -> None:
    thought: JSONObject = {"type": "thinking", "thinking": "three are left"}
    signed_thought: JSONObject = {**thought, "signature": "s"}
    text: JSONObject = {"type": "text", "text": "Yes."}
    answer: JSONObject = {"role": "assistant", "content": [thought, signed_thought, text]}
    assert message_bodies([answer]) == [{"role": "assistant", "content": [signed_thought, text]}]
    assert message_body(answer) == {"role": "assistant", "content": "Yes."}
    refusal: JSONObject = {"type": "refusal", "refusal": "No."}
    assert message_body({**answer, "content": [thought, refusal]})["content"] == [refusal]
    assert message_body({**answer, "content": [thought], "tool_calls": [{"id": "c1"}]})["content"] is None
