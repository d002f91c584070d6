"""What the gateway sends on."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from cockpit.gateway.refusals import Refusal
from cockpit.gateway.routes import Operation, url_of
from cockpit.gateway.upstreams import find, is_official, request_headers, version_headers


def test_header_for_the_gateway_stays_here() -> None:
    headers = [(b"X-Forkpoint-Step", b"p1-s1"), (b"authorization", b"Bearer own"), (b"accept-encoding", b"gzip")]
    assert request_headers(headers, "key") == [("authorization", "Bearer own"), ("accept-encoding", "identity")]


def test_header_in_several_lines_counts_as_a_whole() -> None:
    headers = [(b"anthropic-version", b"v1"), (b"Anthropic-Beta", b"a"), (b"x-other", b"o"), (b"anthropic-beta", b"b")]
    assert version_headers(headers) == [("anthropic-beta", "a,b"), ("anthropic-version", "v1")]


def test_order_of_a_headers_values_does_not_count() -> None:
    one, other = [(b"anthropic-beta", b"b, a")], [(b"anthropic-beta", b"a,b")]
    assert version_headers(one) == version_headers(other) == [("anthropic-beta", "a,b")]


def test_ollama_has_its_own_protocol_beside_that_of_openai(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    addresses = [Operation(path="/api/chat", api="ollama.chat", is_at_root=True)]
    addresses.append(Operation(path="/chat/completions", api="openai.chat"))
    for protocol, url in (("ollama", "http://gpu:1"), ("ollama", "http://gpu:1/v1"), ("openai", "http://gpu:1/v1")):
        settings.PROVIDERS = {"ollama": {"protocol": protocol, "base_url": url}}
        urls = [url_of(operation, find("ollama").base_url) for operation in addresses]
        assert urls == ["http://gpu:1/api/chat", "http://gpu:1/v1/chat/completions"]
    settings.PROVIDERS = {}
    assert url_of(addresses[0], find("ollama").base_url) == "http://127.0.0.1:11434/api/chat"
    # The agents of a team have Ollama on other machines than the server's.
    settings.EMBEDDED = False
    with pytest.raises(ImproperlyConfigured, match="OLLAMA_HOST"):
        find("ollama")
    assert not is_official("127.0.0.1")


def test_refusal_has_the_form_of_ollama() -> None:
    refusal = Refusal(status=400, reason="no")
    body = b'{"error":"Forkpoint\'s gateway: no"}'
    assert (refusal.body("ollama"), refusal.event("ollama.chat", "ollama")) == (body, body + b"\n")
