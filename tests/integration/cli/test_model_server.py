"""The local model over real HTTP, asked by the official SDKs in both protocols."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from cockpit.demo.local_model import provider, server
from cockpit.demo.local_model.model import MODELS, SMALL
from replay.live import providers
from replay.live.providers import ModelAnswer, ModelCall, ProviderError

ORDER = {"order_id": "A-1042", "status": "delivered", "total": 4200, "items": [{"name": "desk lamp", "price": 4200}]}
ASKED = {"role": "user", "content": "My order A-1042 came damaged. Please refund it."}
SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = [{"name": name, "description": name, "parameters": SCHEMA} for name in ("get_order", "issue_refund")]


@pytest.fixture
def served(settings: Settings) -> Iterator[str]:
    base_url = provider.start().base_url
    settings.PROVIDERS = {"claude": {"protocol": "anthropic", "base_url": base_url.removesuffix("/v1")}}
    yield base_url
    providers.close()
    provider.stop()


def ask(name: str, *messages: dict[str, Any], model: str = SMALL, **input: Any) -> ModelAnswer:
    given: Any = {"messages": list(messages), "tools": TOOLS, **input}
    call = ModelCall(provider=name, model=model, input=given)
    pieces: list[str] = []
    answer = providers.answer(call, on_text=pieces.append, cancelled=lambda: False)
    message: Any = answer.output["message"]
    assert "".join(pieces) == (message["content"] or "")
    return answer


@pytest.mark.parametrize("name", ["local", "claude"])
def test_both_protocols_carry_a_conversation_with_tools(served: str, name: str) -> None:
    system = {"role": "system", "content": "Totals are in cents. Answer in one sentence."}
    first: Any = ask(name, system, ASKED).output["message"]
    [lookup] = first["tool_calls"]
    assert (lookup["name"], lookup["arguments"]) == ("get_order", {"order_id": "A-1042"})
    found = {"role": "tool", "tool_call_id": lookup["id"], "content": ORDER}
    second: Any = ask(name, system, ASKED, first, found).output["message"]
    [refund] = second["tool_calls"]
    assert refund["arguments"]["amount"] == 42
    paid = {"role": "tool", "tool_call_id": refund["id"], "content": {"status": "refunded", "amount": 42}}
    answer = ask(name, system, ASKED, first, found, second, paid)
    assert answer.output == {
        "message": {"role": "assistant", "content": "I have refunded 42.00 EUR for order A-1042 (desk lamp)."},
        "finish_reason": "stop",
    }
    assert answer.tokens_in
    assert answer.tokens_out
    assert answer.served_model == SMALL


def test_the_same_request_has_the_same_answer_to_the_last_byte(served: str) -> None:
    assert ask("local", ASKED).output == ask("local", ASKED).output


@pytest.mark.parametrize("name", ["local", "claude"])
def test_a_model_that_is_not_there_is_not_found(served: str, name: str) -> None:
    with pytest.raises(ProviderError, match="desk-small-1") as raised:
        ask(name, ASKED, model="desk-huge-1")
    assert (raised.value.code, raised.value.retryable) == ("not_found", False)


@pytest.mark.parametrize("name", ["local", "claude"])
def test_an_empty_conversation_is_refused(served: str, name: str) -> None:
    with pytest.raises(ProviderError) as raised:
        ask(name)
    assert raised.value.code == "bad_request"


def test_whole_answers_equal_streamed_ones(served: str) -> None:
    from openai import OpenAI

    with OpenAI(api_key="none", base_url=served) as client:
        asked: Any = [{"role": "user", "content": "[returns] Goods can be returned.\nCan goods be returned?"}]
        whole = client.chat.completions.create(model=SMALL, messages=asked)
        assert [model.id for model in client.models.list()] == list(MODELS)
    streamed: Any = ask("local", *asked, tools=None).output["message"]
    assert whole.choices[0].message.content == streamed["content"] == "Goods can be returned."
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens


def test_it_says_what_it_is(served: str) -> None:
    found = providers.configured_providers()["local"]
    assert found.local
    assert "not an LLM" in found.description
    assert found.models == MODELS


def test_an_operators_provider_keeps_the_name(settings: Settings) -> None:
    settings.PROVIDERS = {"local": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    try:
        assert provider.start().name == "local-demo"
        assert providers.configured_providers()["local"].base_url == "http://127.0.0.1:9/v1"
        chosen = providers.provider_for("local", SMALL, None)
        assert chosen is not None
        assert chosen.name == "local-demo"
    finally:
        provider.stop()


def test_starting_twice_serves_once() -> None:
    try:
        assert server.start() == server.start()
    finally:
        server.stop()
