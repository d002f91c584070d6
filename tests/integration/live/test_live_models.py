"""Live model calls over HTTP in both protocols, including all provider failures."""

import socket
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from replay.live import providers
from replay.live.providers import Cancelled, ModelCall
from tests.bench.ingest.stages import call_clock
from tests.support.servers.provider_server import (
    Exchange,
    ProviderServer,
    anthropic_events,
    anthropic_message,
    openai_chunk,
)
from tests.support.servers.two_providers import KEY, QUESTION, ask, failure, two_providers
from traces.core.json_types import JSONValue

pytestmark = pytest.mark.divided


@pytest.fixture
def server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with two_providers(settings, monkeypatch) as running:
        yield running


def test_openai_text_streams_with_usage(server: ProviderServer) -> None:
    pieces: list[str] = []
    answer = ask(pieces=pieces, parameters={"temperature": 0, "max_tokens": 9, "seed": 3, "stop": ["X"], "odd": 1})
    assert pieces == ["On ", "its way."]
    assert answer.output == {"message": {"role": "assistant", "content": "On its way."}, "finish_reason": "stop"}
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (10, 2, 4)
    assert answer.served_model == "served-1"
    assert answer.cost_usd is None
    assert answer.left_out == ("odd",)
    body = server.requests[0].body
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert (body["temperature"], body["max_tokens"], body["seed"], body["stop"]) == (0, 9, 3, ["X"])


def test_long_history_is_sent_as_it_is(server: ProviderServer) -> None:
    def calls_of(count: int) -> int:
        messages: JSONValue = [{"role": "user", "content": f"Where is order {number}?"} for number in range(count)]
        with call_clock() as clock:
            ask(messages=messages)
            calls = int(clock())
        assert server.requests[-1].body["messages"] == messages
        return calls

    calls_of(1)
    assert (calls_of(401) - calls_of(1)) / 400 < 40


def test_openai_tool_calls_are_parsed(server: ProviderServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.stream()
        first = {"index": 0, "id": "a", "type": "function", "function": {"name": "get_order", "arguments": '{"id'}}
        exchange.send(openai_chunk({"role": "assistant", "content": None, "tool_calls": [first]}))
        exchange.send(openai_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '": 7}'}}]}))
        second = {"index": 1, "id": "b", "type": "function", "function": {"name": "list_orders", "arguments": ""}}
        exchange.send(openai_chunk({"tool_calls": [second]}))
        exchange.send(openai_chunk(finish="tool_calls"))
        exchange.send("[DONE]")

    server.respond = respond
    tools = [{"name": "get_order", "description": "Look up", "parameters": {"type": "object", "properties": {}}}]
    answer = ask(tools=tools)
    assert answer.output == {
        "message": {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "name": "get_order", "arguments": {"id": 7}},
                {"id": "b", "name": "list_orders", "arguments": {}},
            ],
        },
        "finish_reason": "tool_calls",
    }
    assert answer.tokens_in is None
    assert server.requests[0].body["tools"][0]["function"]["name"] == "get_order"


def test_recorded_history_becomes_openai_request(server: ProviderServer) -> None:
    call = {"id": "a", "name": "get_order", "arguments": {"id": 7}}
    ask(
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": {"status": "shipped"}},
        ]
    )
    messages = server.requests[0].body["messages"]
    assert messages[1]["tool_calls"][0] == {
        "id": "a",
        "type": "function",
        "function": {"name": "get_order", "arguments": '{"id": 7}'},
    }
    assert messages[2] == {"role": "tool", "tool_call_id": "a", "content": '{"status": "shipped"}'}


def test_anthropic_text_and_tool_use(server: ProviderServer) -> None:
    server.respond = anthropic_message(
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "t1", "name": "get_order", "input": {"id": 7}},
        stop_reason="tool_use",
    )
    pieces: list[str] = []
    answer = ask("claude", pieces=pieces, parameters={"temperature": 0.5, "seed": 1})
    assert "".join(pieces) == "Let me look."
    assert answer.output == {
        "message": {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "t1", "name": "get_order", "arguments": {"id": 7}}],
        },
        "finish_reason": "tool_calls",
    }
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (15, 9, 5)
    assert answer.left_out == ("seed",)
    assert server.requests[0].body["max_tokens"] > 0
    assert server.requests[0].body["temperature"] == 0.5


def test_recorded_history_becomes_anthropic_request(server: ProviderServer) -> None:
    server.respond = anthropic_message({"type": "text", "text": "Done."})
    calls = [{"id": name, "name": "get_order", "arguments": {"id": name}} for name in ("a", "b")]
    ask(
        "claude",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Orders a and b?"},
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "shipped"},
            {"role": "tool", "tool_call_id": "b", "content": {"status": "lost"}},
            {"role": "user", "content": "And?"},
        ],
        tools=[{"name": "get_order"}],
        parameters={"stop": "END", "tool_choice": "required", "parallel_tool_calls": False},
    )
    body = server.requests[0].body
    assert body["system"] == "Be brief."
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use", "tool_use"]
    assert [block["type"] for block in body["messages"][2]["content"]] == ["tool_result", "tool_result", "text"]
    assert body["stop_sequences"] == ["END"]
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "bad_request", False),
        (401, "auth", False),
        (403, "auth", False),
        (404, "not_found", False),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (502, "server_error", True),
        (503, "overloaded", True),
        (529, "overloaded", True),
        (302, "refused", False),
    ],
)
@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_error_statuses_are_classified(
    server: ProviderServer, provider: str, status: int, code: str, retryable: bool
) -> None:
    body = {"type": "error", "error": {"message": f"rate limit of {KEY}, retry", "type": "some_error"}}
    server.respond = lambda exchange: exchange.status(status, body, retry_after="2.5", location="http://127.0.0.1:1/")
    error = failure(provider)
    assert (error.code, error.retryable, error.status) == (code, retryable, status)
    assert error.retry_after_s == 2.5
    assert len(server.requests) == 1


def test_exhausted_quota_is_not_retryable(server: ProviderServer) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    server.respond = lambda exchange: exchange.status(429, body)
    assert not failure().retryable


@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_silent_server_times_out(server: ProviderServer, settings: Settings, provider: str) -> None:
    settings.PROVIDERS[provider]["timeout_s"] = 0.5
    server.respond = lambda exchange: time.sleep(600)
    error = failure(provider)
    assert (error.code, error.retryable) == ("timeout", True)


@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_refused_connection_is_a_network_failure(settings: Settings, server: ProviderServer, provider: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings.PROVIDERS[provider]["base_url"] = url
        error = failure(provider)
    assert (error.code, error.retryable) == ("network", True)


def _half_openai(exchange: Exchange) -> None:
    exchange.stream()
    exchange.send(openai_chunk({"content": "On "}))


def _half_anthropic(exchange: Exchange) -> None:
    exchange.stream()
    for event, data in list(anthropic_events({"type": "text", "text": "On its way."}))[:4]:
        exchange.send(data, event)


@pytest.mark.parametrize(("provider", "respond"), [("chat", _half_openai), ("claude", _half_anthropic)])
def test_incomplete_stream_is_an_error(server: ProviderServer, provider: str, respond: Any) -> None:
    server.respond = respond
    error = failure(provider)
    assert (error.code, error.retryable) == ("incomplete_stream", True)


@pytest.mark.parametrize("garbage", ["{not json", '{"choices": 5}', '{"type": 5}', "[]", '"text"'])
@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_garbage_in_stream_is_an_error(server: ProviderServer, provider: str, garbage: str) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.stream()
        exchange.send(garbage, "content_block_delta")

    server.respond = respond
    error = failure(provider)
    assert error.retryable
    assert error.code in {"invalid_response", "incomplete_stream"}


@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_html_page_is_an_error(server: ProviderServer, provider: str) -> None:
    server.respond = lambda exchange: exchange.status(200, "<html>login</html>", content_type="text/html")
    assert failure(provider).code in {"invalid_response", "incomplete_stream"}


def test_broken_tool_arguments_are_an_error(server: ProviderServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.stream()
        call = {"index": 0, "id": "a", "function": {"name": "get_order", "arguments": '{"id": '}}
        exchange.send(openai_chunk({"tool_calls": [call]}))
        exchange.send(openai_chunk(finish="tool_calls"))

    server.respond = respond
    error = failure()
    assert error.code == "invalid_response"
    assert "get_order" in str(error)


def test_error_inside_stream_is_classified(server: ProviderServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.stream()
        exchange.send({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")

    server.respond = respond
    for provider in ("chat", "claude"):
        error = failure(provider)
        assert (error.code, error.retryable) == ("overloaded", True)


def test_cancel_takes_effect_between_two_chunks(server: ProviderServer) -> None:
    pieces: list[str] = []
    call = ModelCall(provider="chat", model="m1", input=QUESTION)
    with pytest.raises(Cancelled):
        providers.answer(call, on_text=pieces.append, cancelled=lambda: bool(pieces))
    assert pieces == ["On "]


def test_unconfigured_host_is_never_reached(settings: Settings, server: ProviderServer) -> None:
    error = failure("unheard-of")
    assert (error.code, error.retryable) == ("not_configured", False)
    assert server.requests == []


def test_official_host_at_private_address_is_refused(monkeypatch: pytest.MonkeyPatch, server: ProviderServer) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    real = socket.getaddrinfo
    addresses = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 443))]
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **options: addresses if host == "api.openai.com" else real(host, *rest, **options),
    )
    error = failure("openai")
    assert (error.code, error.retryable) == ("egress_refused", False)


def test_known_model_is_priced(server: ProviderServer, settings: Settings) -> None:
    settings.PROVIDERS["openai"] = settings.PROVIDERS["chat"]
    cost = ask("openai", "gpt-4o").cost_usd
    assert cost is not None
    assert Decimal("0.00001") < cost < Decimal("0.001")
