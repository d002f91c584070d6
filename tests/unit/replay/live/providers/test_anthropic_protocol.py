"""Token limits in the Anthropic protocol, which requires them."""

import pytest

from replay.live.providers.anthropic_protocol import request
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
