"""Configured providers, and the lookup for a recorded call."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from replay.live import providers
from replay.live.providers import Provider, provider_for
from replay.live.providers.configuration import ollama_url
from replay.live.providers.protocols import foreign_protocol, protocol_of

LOCAL = {"protocol": "openai", "base_url": "http://127.0.0.1:8123/v1/", "models": ["m1"]}


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    for name in (*keys, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    settings.PROVIDERS = {"local": LOCAL}


def name_for(step_provider: str, model: str, override: str | None = None) -> str | None:
    provider = provider_for(step_provider, model, override)
    return provider.name if provider else None


def test_official_providers_need_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(providers.configured_providers()) == {"local"}
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    provider = providers.configured_providers()["anthropic"]
    assert (provider.base_url, provider.operator) == ("https://api.anthropic.com", False)
    assert "sk-ant-secret" not in repr(provider)


def test_google_is_asked_in_its_own_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert name_for("google", "gemini-3-pro") == name_for("", "models/gemini-3-pro") == "google"
    provider = providers.configured_providers()["google"]
    assert (provider.protocol, urlsplit(provider.base_url).path, provider.operator) == ("gemini", "", False)
    # Of embeddings, for example.
    assert provider.openai_url == f"{provider.base_url}/v1beta/openai"
    assert protocol_of("google") == "gemini"
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
    assert providers.configured_providers()["google"].operator


def test_ollama_is_configured_by_its_address(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "gpu:8080")
    provider = providers.configured_providers()["ollama"]
    assert (provider.protocol, provider.base_url, provider.operator) == ("ollama", "http://gpu:8080", True)
    assert foreign_protocol("ollama", "ollama") is foreign_protocol("ollama", "openai") is None
    assert foreign_protocol("ollama", "anthropic") == "openai"
    settings.PROVIDERS = {"ollama": LOCAL}
    assert providers.configured_providers()["ollama"].protocol == "openai"
    assert foreign_protocol("ollama", "ollama") == "openai"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu", "http://gpu:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("[::]", "http://[::1]:11434"),
        ("https://gpu/models/", "https://gpu/models"),
        ("http://gpu:80", "http://gpu:80"),
    ],
)
def test_spellings_of_the_address_of_ollama(host: str, url: str) -> None:
    assert ollama_url(host) == url


def test_base_url_variable_belongs_to_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://10.0.0.1:8000/v1")
    assert providers.configured_providers()["openai"].operator


def test_recorded_provider_wins_over_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert name_for("openai", "gpt-4o") == "openai"
    assert name_for("openai", "m1") == "openai"
    assert name_for("", "m1") == "local"
    assert name_for("", "gpt-4o") == "openai"
    assert name_for("", "claude-x") is None
    assert name_for("groq", "llama-3") is None
    assert name_for("groq", "gpt-4o") is None


def test_recording_without_provider_uses_the_only_one_that_serves_any_model(settings: Settings) -> None:
    anything = {"protocol": "openai", "base_url": "http://127.0.0.1:8124/v1"}
    settings.PROVIDERS = {"local": LOCAL, "proxy": anything}
    assert name_for("", "llama-3") == "proxy"
    assert name_for("", "claude-x") == "proxy"
    assert name_for("", "m1") == "local"
    assert name_for("", "") is None
    assert name_for("groq", "llama-3") is None
    settings.PROVIDERS["second"] = anything
    assert name_for("", "llama-3") is None


def test_override_selects_provider_by_name() -> None:
    assert name_for("openai", "anything", "local") == "local"
    assert name_for("local", "m1", "nobody") is None


def test_operator_provider_wins_over_registered() -> None:
    local_provider = Provider(name="local", protocol="openai", base_url="http://127.0.0.1:1/v1", local=True)
    providers.register(local_provider)
    try:
        assert not providers.configured_providers()["local"].local
    finally:
        providers.unregister("local")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**LOCAL, "protocol": "grpc"}, "protocol"),
        ({**LOCAL, "base_url": "ftp://x"}, "base_url"),
        ({**LOCAL, "base_url": None}, "base_url"),
        ({**LOCAL, "base_url": "http://user:pw@host/v1"}, "credentials"),
        ({**LOCAL, "api_key": "sk-1"}, "api_key"),
        ({**LOCAL, "models": "m1"}, "models"),
        ({**LOCAL, "timeout_s": 0}, "timeout_s"),
    ],
)
def test_invalid_entry_is_refused_by_name(settings: Settings, entry: dict[str, Any], message: str) -> None:
    settings.PROVIDERS = {"mine": entry}
    with pytest.raises(ImproperlyConfigured, match=message) as error_info:
        providers.configured_providers()
    assert "mine" in str(error_info.value)
    assert "sk-1" not in str(error_info.value)
