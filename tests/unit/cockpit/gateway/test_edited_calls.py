"""Calls with the overrides of a fork, as they are sent to the provider."""

import json

import pytest

from cockpit.gateway.events import Call
from cockpit.gateway.playback import agent_request, edited_call
from cockpit.gateway.routes import find_route, url_of
from replay.reruns.requests.agent_requests import UnreadableRequest
from replay.reruns.resolutions import Resolution


def call_to(provider: str, path: str, body: bytes, *, protocol: str = "", query: str = "") -> Call:
    """A call through the gateway; `protocol` is the provider's, if its name does not tell."""
    route = find_route(f"/gateway/s1/{provider}/{path}", lambda _: protocol)
    assert route is not None
    assert route.operation is not None
    return Call(
        run_id="r1",
        id="c1",
        provider=provider,
        protocol=protocol or provider,
        operation=route.operation,
        run_start=0,
        start=1,
        body=body,
        query=query,
        digest_key=b"key",
    )


@pytest.mark.parametrize(("model", "name"), [("m2", "m2"), ("../../files?a=", "..%2F..%2Ffiles%3Fa%3D")])
def test_another_model_of_gemini_is_in_the_address(model: str, name: str) -> None:
    call = call_to("gemini", "v1beta/models/m1:streamGenerateContent", b"{}", query="alt=sse")
    edited = edited_call(call, Resolution(response=None, row=1, body={"contents": [], "model": model}))
    assert edited.url("http://host") == f"http://host/v1beta/models/{name}:streamGenerateContent?alt=sse"
    assert (edited.operation.model, json.loads(edited.body)) == (model, {"contents": []})


@pytest.mark.parametrize(
    "base_url",
    [
        "https://openai.azure.example",
        "https://openai.azure.example/openai",
        "https://openai.azure.example/openai/deployments/other",
        "https://openai.azure.example/openai/v1",
    ],
)
@pytest.mark.parametrize(("model", "deployment"), [("gpt-5", "d-1"), ("d 2", "d%202")])
def test_deployment_of_azure_is_in_the_address(base_url: str, model: str, deployment: str) -> None:
    """Its client sends the name of the model as well, which may be another one."""
    path, body = "openai/deployments/d-1/chat/completions", b'{"model": "gpt-5", "messages": []}'
    call = call_to("azure", path, body, protocol="openai", query="api-version=2024-10-21")
    edited = edited_call(call, Resolution(response=None, row=1, body={"messages": [{}], "model": model}))
    root = "https://openai.azure.example/openai/deployments"
    assert edited.url(base_url) == f"{root}/{deployment}/chat/completions?api-version=2024-10-21"
    elsewhere = edited_call(call, Resolution(response=None, row=1, body={"model": model}, provider="vllm"))
    assert elsewhere.url("http://gpu/v1") == "http://gpu/v1/chat/completions"
    assert (elsewhere.provider, json.loads(elsewhere.body)) == ("vllm", {"model": model})


@pytest.mark.parametrize("base_url", ["https://a.example", "https://a.example/openai", "https://a.example/openai/v1"])
@pytest.mark.parametrize("path", ["/openai/responses", "/openai/v1/responses", "/openai/v1/chat/completions"])
def test_operation_of_azure_is_below_its_host(base_url: str, path: str) -> None:
    route = find_route(f"/gateway/s1/azure{path}", lambda _: "openai")
    assert route is not None
    assert route.operation is not None
    assert url_of(route.operation, base_url) == f"https://a.example{path}"


@pytest.mark.parametrize("body", [b'{"model": "m1", "temperature": NaN}', b'{"a": "b', b"[]", b"\xff"])
def test_body_that_is_no_object_is_not_taken_for_an_empty_one(body: bytes) -> None:
    request = agent_request(call_to("openai", "v1/chat/completions", body), 1_000)
    assert request.digest
    with pytest.raises(UnreadableRequest, match="cannot be read"):
        _ = request.input
