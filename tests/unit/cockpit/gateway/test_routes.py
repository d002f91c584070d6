"""Addresses of the gateway."""

import pytest

from cockpit.gateway.routes import find_route, protocol_of, served_paths, session_of


def _protocol(provider: str) -> str:
    return {"my-models": "anthropic", "azure": "openai"}.get(provider, "")


@pytest.mark.parametrize(
    ("address", "path", "api"),
    [
        ("openai/v1/chat/completions", "/chat/completions", "openai.chat"),
        ("openai/chat/completions", "/chat/completions", "openai.chat"),
        ("openai/v1/responses", "/responses", "openai.responses"),
        ("openai/v1/embeddings", "/embeddings", "openai.embeddings"),
        ("openai/v1/moderations", "/moderations", "openai.moderations"),
        ("openai/v1/responses/resp_1a", "/responses/resp_1a", "openai.stored_response"),
        ("anthropic/v1/messages", "/v1/messages", "anthropic.messages"),
        ("my-models/v1/messages", "/v1/messages", "anthropic.messages"),
        ("anthropic/messages", "/v1/messages", "anthropic.messages"),
        ("azure/openai/deployments/d-1/chat/completions", "/deployments/d-1/chat/completions", "openai.chat"),
        ("azure/openai/deployments/d-1/embeddings", "/deployments/d-1/embeddings", "openai.embeddings"),
        ("azure/openai/responses", "/openai/responses", "openai.responses"),
        ("azure/openai/responses/resp_1a", "/openai/responses/resp_1a", "openai.stored_response"),
        ("azure/openai/v1/chat/completions", "/openai/v1/chat/completions", "openai.chat"),
        ("anthropic/v1/messages/count_tokens", "/v1/messages/count_tokens", "anthropic.count_tokens"),
        (
            "gemini/v1beta/models/g-2.5:generateContent",
            "/v1beta/models/g-2.5:generateContent",
            "google.generate_content",
        ),
        ("ollama/api/chat", "/api/chat", "ollama.chat"),
        ("ollama/v1/api/chat", "/api/chat", "ollama.chat"),
        ("ollama/api/tags", "/api/tags", "ollama.models"),
        ("ollama/v1/chat/completions", "/chat/completions", "openai.chat"),
        ("azure/api/generate", "/api/generate", "ollama.generate"),
        ("azure/v1/rerank", "/rerank", "openai.rerank"),
        ("azure/tokenize", "/tokenize", "openai.tokenize"),
        ("gemini/models/e:embedContent", "/v1beta/models/e:embedContent", "google.embed_content"),
        ("gemini/v1/models/g:streamGenerateContent", "/v1/models/g:streamGenerateContent", "google.generate_content"),
        ("gemini/models/g:generateContent", "/v1beta/models/g:generateContent", "google.generate_content"),
    ],
)
def test_operation_of_an_address(address: str, path: str, api: str) -> None:
    path_of_request = f"/gateway/s.1.x/{address}"
    route = find_route(path_of_request, _protocol)
    assert route is not None
    assert route.operation is not None
    assert (route.operation.path, route.operation.api) == (path, api)
    assert session_of(path_of_request) == "s.1.x"


@pytest.mark.parametrize(
    "address",
    [
        "openai/v1/files",
        "openai/v1/responses/resp_1/cancel",
        "azure/openai/deployments/d-1/images/edits",
        "azure/openai/deployments/../chat/completions",
        "my-models/openai/deployments/d-1/chat/completions",
        "openai/v1/../admin",
        "anthropic/v1/complete",
        "my-models/api/chat",
        "ollama/api/pull",
        "gemini/v1beta/models/a/b:generateContent",
    ],
)
def test_other_operations_are_not_served(address: str) -> None:
    route = find_route(f"/gateway/s/{address}", _protocol)
    assert route is not None
    assert route.operation is None


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "gemini", "ollama"])
def test_served_paths_are_served(protocol: str) -> None:
    routes = [find_route(f"/gateway/s/{protocol}{path}", _protocol) for path in served_paths(protocol)]
    assert all(route is not None and route.operation is not None for route in routes)


def test_model_list_and_unknown_provider() -> None:
    route = find_route("/gateway/s/openai/v1/models", _protocol)
    assert route is not None
    assert (route.lists_models, route.model) == (True, "")
    for path, model in (
        ("openai/v1/models/", ""),
        ("openai/v1/models/ft:m1", "ft:m1"),
        ("gemini/v1beta/models/m1/", "m1"),
    ):
        slashed_route = find_route(f"/gateway/s/{path}", _protocol)
        assert slashed_route is not None
        assert slashed_route.model == model
    assert find_route("/gateway/s/else/v1/models", _protocol) is None
    paths = ("/gateway/s/openai/v1", "/gateway/s/my-models/v1", "/gateway/s", "/gateway/")
    assert [protocol_of(path) for path in paths] == ["openai", "", "", ""]
