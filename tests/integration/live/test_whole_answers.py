"""Servers that answer a request for a stream with the whole message, and OpenAI's Responses API."""

import json
from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from tests.support.servers.provider_server import Exchange, ProviderServer
from tests.support.servers.two_providers import KEY, QUESTION, ask, failure, two_providers
from traces.core.json_types import JSONObject, JSONValue

pytestmark = pytest.mark.divided


@pytest.fixture
def server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with two_providers(settings, monkeypatch) as running:
        yield running


_CALL: JSONObject = {"id": "a", "name": "get_order", "arguments": {"id": 7}}
_WHOLE_ANSWERS: dict[str, list[tuple[JSONObject, JSONObject]]] = {
    "chat": [
        (
            {"choices": [{"message": {"role": "assistant", "content": "On its way."}, "finish_reason": "length"}]},
            {"message": {"role": "assistant", "content": "On its way."}, "finish_reason": "length"},
        ),
        (
            {
                "choices": [
                    {
                        "message": {
                            "tool_calls": [
                                {
                                    "id": "a",
                                    "type": "function",
                                    "function": {"name": "get_order", "arguments": '{"id": 7}'},
                                }
                            ]
                        }
                    }
                ]
            },
            {"message": {"role": "assistant", "content": None, "tool_calls": [_CALL]}},
        ),
    ],
    "claude": [
        (
            {"content": [{"type": "text", "text": "On its way."}], "stop_reason": "max_tokens"},
            {"message": {"role": "assistant", "content": "On its way."}, "finish_reason": "length"},
        ),
        (
            {"content": [{"type": "tool_use", "id": "a", "name": "get_order", "input": {"id": 7}}]},
            {"message": {"role": "assistant", "content": None, "tool_calls": [_CALL]}},
        ),
    ],
}


def _whole(body: JSONObject) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.status(200, body)


_RESPONSE: JSONObject = {
    "model": "served-1",
    "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "On its way."}]},
        {"type": "function_call", "call_id": "a", "name": "get_order", "arguments": '{"id": 7}'},
    ],
    "usage": {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
}


def _respond_with(*events: JSONObject) -> Callable[[Exchange], None]:
    def respond(exchange: Exchange) -> None:
        exchange.stream()
        for event in events:
            exchange.send(event, str(event["type"]))

    return respond


def test_responses_api_answers_in_a_stream_or_as_a_whole(server: ProviderServer) -> None:
    deltas: list[JSONObject] = [
        {"type": "response.output_text.delta", "delta": text, "item_id": "i", "output_index": 0, "content_index": 0}
        for text in ("On ", "its way.")
    ]
    for respond in (_respond_with(*deltas, {"type": "response.completed", "response": _RESPONSE}), _whole(_RESPONSE)):
        server.respond = respond
        pieces: list[str] = []
        answer = ask(pieces=pieces, is_response=True)
        message: JSONObject = {"role": "assistant", "content": "On its way.", "tool_calls": [_CALL]}
        assert answer.output == {"message": message, "finish_reason": "tool_calls"}
        assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (10, 2, 4)
        assert "".join(pieces) == "On its way."
    assert (server.requests[0].path, server.requests[0].body["store"]) == ("/v1/responses", False)
    assert server.requests[0].body["input"] == QUESTION["messages"]


@pytest.mark.parametrize(
    ("respond", "code", "retryable"),
    [
        (_respond_with({"type": "response.created", "response": {"output": []}}), "incomplete_stream", True),
        (_respond_with({"type": "error", "code": "server_error", "message": "m"}), "server_error", True),
        (
            _respond_with(
                {"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": KEY}}}
            ),
            "bad_request",
            False,
        ),
        (_respond_with({"type": "response.completed", "response": {"output": []}}), "invalid_response", True),
    ],
)
def test_failures_of_the_responses_api_are_errors(
    server: ProviderServer, respond: Callable[[Exchange], None], code: str, retryable: bool
) -> None:
    server.respond = respond
    error = failure(is_response=True)
    assert (error.code, error.retryable) == (code, retryable)


@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_whole_answers_of_servers_that_never_stream_are_read(server: ProviderServer, provider: str) -> None:
    for body, output in _WHOLE_ANSWERS[provider]:
        usage: JSONObject = {"prompt_tokens": 10, "completion_tokens": 2, "input_tokens": 10, "output_tokens": 2}
        server.respond = _whole({**body, "model": "served-1", "usage": usage})
        answer = ask(provider)
        assert answer.output == output
        assert (answer.tokens_in, answer.tokens_out, answer.served_model) == (10, 2, "served-1")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"type": "overloaded_error", "message": "too busy"}, "overloaded", "too busy"),
        ("no such model", "server_error", "no such model"),
    ],
)
@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_error_in_place_of_a_whole_answer_is_named(
    server: ProviderServer, provider: str, error: JSONValue, code: str, message: str
) -> None:
    server.respond = _whole({"error": error})
    problem = failure(provider)
    assert problem.code == code
    assert message in str(problem)


@pytest.mark.parametrize("text", ["{not json", "[]", "{}", '{"choices": []}', '{"choices": 5}', '{"content": 5}'])
@pytest.mark.parametrize("provider", ["chat", "claude"])
def test_json_that_is_no_answer_is_an_error(server: ProviderServer, provider: str, text: str) -> None:
    server.respond = lambda exchange: exchange.status(200, text, content_type="application/json; charset=utf-8")
    assert failure(provider).code == "invalid_response"


_NATIVE: dict[str, tuple[str, str, str, list[JSONObject]]] = {
    "gemini": (
        "/v1beta/models/m1:streamGenerateContent?alt=sse",
        "x-goog-api-key",
        "data: ",
        [
            {"candidates": [{"content": {"parts": [{"text": "On "}]}}]},
            {
                "candidates": [{"content": {"parts": [{"text": "its way."}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2},
                "modelVersion": "served-1",
            },
        ],
    ),
    "ollama": (
        "/api/chat",
        "authorization",
        "",
        [
            {"model": "served-1", "message": {"content": "On "}, "done": False},
            {
                "model": "served-1",
                "message": {"content": "its way."},
                "done": True,
                "done_reason": "stop",
                "prompt_eval_count": 10,
                "eval_count": 2,
            },
        ],
    ),
}


@pytest.mark.parametrize("protocol", _NATIVE)
def test_providers_are_asked_in_their_own_protocol(server: ProviderServer, settings: Settings, protocol: str) -> None:
    path, key_header, head, events = _NATIVE[protocol]
    settings.PROVIDERS["own"] = {"protocol": protocol, "base_url": server.base_url, "api_key_env": "TEST_KEY"}
    stream = "".join(f"{head}{json.dumps(event)}\n\n" for event in events)
    media_type = "text/event-stream" if head else "application/x-ndjson"
    server.respond = lambda exchange: exchange.status(200, stream, content_type=media_type)
    pieces: list[str] = []
    answer = ask("own", pieces=pieces)
    message: JSONObject = {"role": "assistant", "content": "On its way."}
    assert (pieces, answer.output) == (["On ", "its way."], {"message": message, "finish_reason": "stop"})
    assert (answer.tokens_in, answer.tokens_out, answer.served_model) == (10, 2, "served-1")
    [request] = server.requests
    assert (request.path, KEY in request.headers[key_header]) == (path, True)
    server.respond = _whole(events[-1])
    assert ask("own").output == {"message": {**message, "content": "its way."}, "finish_reason": "stop"}
    server.respond = lambda exchange: exchange.status(200, stream.split("\n")[0], content_type=media_type)
    assert failure("own").code == "incomplete_stream"
    server.respond = lambda exchange: exchange.status(429, {"error": {"message": f"{KEY} is slow"}})
    assert failure("own").retryable
