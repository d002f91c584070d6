"""The local model over real HTTP, called through the official SDKs in both protocols."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from cockpit.demo.local_model import provider, server
from cockpit.demo.local_model.model import MODELS, SMALL
from replay.live import providers
from replay.live.providers import ModelAnswer, ModelCall, ProviderError

pytestmark = pytest.mark.once
ORDER = {"order_id": "A-1042", "status": "delivered", "total": 4200, "items": [{"name": "desk lamp", "price": 4200}]}
QUESTION = {"role": "user", "content": "My order A-1042 came damaged. Please refund it."}
SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = [{"name": name, "description": name, "parameters": SCHEMA} for name in ("get_order", "issue_refund")]


@pytest.fixture
def base_url(settings: Settings) -> Iterator[str]:
    base_url = provider.start().base_url
    settings.PROVIDERS = {"claude": {"protocol": "anthropic", "base_url": base_url.removesuffix("/v1")}}
    yield base_url
    providers.close()
    provider.stop()


def ask(name: str, *messages: dict[str, Any], model: str = SMALL, **input: Any) -> ModelAnswer:
    request: Any = {"messages": list(messages), "tools": TOOLS, **input}
    call = ModelCall(provider=name, model=model, input=request)
    pieces: list[str] = []
    answer = providers.answer(call, on_text=pieces.append, cancelled=lambda: False)
    message: Any = answer.output["message"]
    assert "".join(pieces) == (message["content"] or "")
    return answer


@pytest.mark.parametrize("name", ["local", "claude"])
def test_both_protocols_support_tools(base_url: str, name: str) -> None:
    system = {"role": "system", "content": "Totals are in cents. Answer in one sentence."}
    first: Any = ask(name, system, QUESTION).output["message"]
    [lookup] = first["tool_calls"]
    assert (lookup["name"], lookup["arguments"]) == ("get_order", {"order_id": "A-1042"})
    order_message = {"role": "tool", "tool_call_id": lookup["id"], "content": ORDER}
    second: Any = ask(name, system, QUESTION, first, order_message).output["message"]
    [refund] = second["tool_calls"]
    assert refund["arguments"]["amount"] == 42
    refund_message = {"role": "tool", "tool_call_id": refund["id"], "content": {"status": "refunded", "amount": 42}}
    answer = ask(name, system, QUESTION, first, order_message, second, refund_message)
    assert answer.output == {
        "message": {"role": "assistant", "content": "I have refunded 42.00 EUR for order A-1042 (desk lamp)."},
        "finish_reason": "stop",
    }
    assert answer.tokens_in
    assert answer.tokens_out
    assert answer.served_model == SMALL


def test_equal_requests_have_equal_answers(base_url: str) -> None:
    assert ask("local", QUESTION).output == ask("local", QUESTION).output


@pytest.mark.parametrize("name", ["local", "claude"])
def test_unknown_model_is_not_found(base_url: str, name: str) -> None:
    with pytest.raises(ProviderError, match="desk-small-1") as error:
        ask(name, QUESTION, model="desk-huge-1")
    assert (error.value.code, error.value.retryable) == ("not_found", False)


@pytest.mark.parametrize("name", ["local", "claude"])
def test_empty_conversation_is_rejected(base_url: str, name: str) -> None:
    with pytest.raises(ProviderError) as error:
        ask(name)
    assert error.value.code == "bad_request"


def test_whole_answers_equal_streamed_ones(base_url: str) -> None:
    from openai import OpenAI

    with OpenAI(api_key="none", base_url=base_url) as client:
        messages: Any = [{"role": "user", "content": "[returns] Goods can be returned.\nCan goods be returned?"}]
        whole = client.chat.completions.create(model=SMALL, messages=messages)
        assert [model.id for model in client.models.list()] == list(MODELS)
    streamed_message: Any = ask("local", *messages, tools=None).output["message"]
    assert whole.choices[0].message.content == streamed_message["content"] == "Goods can be returned."
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens


def test_provider_describes_itself(base_url: str) -> None:
    local_provider = providers.configured_providers()["local"]
    assert local_provider.local
    assert "not an LLM" in local_provider.description
    assert local_provider.models == MODELS


def test_configured_provider_keeps_its_name(settings: Settings) -> None:
    settings.PROVIDERS = {"local": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    try:
        assert provider.start().name == "local-demo"
        assert providers.configured_providers()["local"].base_url == "http://127.0.0.1:9/v1"
        selected_provider = providers.provider_for("local", SMALL, None)
        assert selected_provider is not None
        assert selected_provider.name == "local-demo"
    finally:
        provider.stop()


def test_starting_twice_serves_once() -> None:
    try:
        assert server.start() == server.start()
    finally:
        server.stop()
