"""Requests in OpenAI's protocol."""

from typing import Any

import pytest

from replay.live.providers.openai_protocol import request
from replay.live.providers.types import ModelCall

CALLS: list[Any] = [{"id": f"c{number}", "name": "look", "arguments": {}} for number in range(2)]
MESSAGES: list[Any] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    *({"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in CALLS),
]


@pytest.mark.parametrize(
    ("model", "is_marked"),
    [("gemini-3-pro-preview", True), ("models/gemini-4-flash", True), ("gemini-2.5-pro", False), ("gpt-5", False)],
)
def test_gemini_is_told_which_calls_it_did_not_sign(model: str, is_marked: bool) -> None:
    body, _ = request(ModelCall(provider="google", model=model, input={"messages": MESSAGES}))
    _, answer, *_ = body["messages"]
    assert [("extra_content" in call) for call in answer["tool_calls"]] == [is_marked, False]
    assert "extra_content" not in CALLS[0]
