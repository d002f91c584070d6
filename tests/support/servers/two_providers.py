"""One server that is configured as two providers, one of each protocol, and single calls to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from pytest_django import Settings

from replay.live import providers
from replay.live.providers import ModelAnswer, ModelCall, ProviderError
from tests.support.servers.provider_server import ProviderServer, openai_text, provider_server
from traces.core.json_types import JSONObject

KEY: Final = "sk-test-0123456789"
QUESTION: Final[JSONObject] = {"messages": [{"role": "user", "content": "Where is order 7?"}]}


@contextmanager
def two_providers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """Configure the providers `chat` (OpenAI) and `claude` (Anthropic)."""
    monkeypatch.setenv("TEST_KEY", KEY)
    with provider_server(openai_text("On ", "its way.")) as running:
        common = {"api_key_env": "TEST_KEY", "timeout_s": 60.0}
        settings.PROVIDERS = {
            "chat": {"protocol": "openai", "base_url": f"{running.base_url}/v1", **common},
            "claude": {"protocol": "anthropic", "base_url": running.base_url, **common},
        }
        yield running
        providers.close()


def ask(
    provider: str = "chat",
    model: str = "m1",
    pieces: list[str] | None = None,
    *,
    is_response: bool = False,
    **input: Any,
) -> ModelAnswer:
    """Ask a provider once; `pieces` receives its text as it arrives."""
    call = ModelCall(provider=provider, model=model, input={**QUESTION, **input}, is_response=is_response)
    return providers.answer(call, on_text=(pieces if pieces is not None else []).append, cancelled=lambda: False)


def failure(provider: str = "chat", *, is_response: bool = False, **input: Any) -> ProviderError:
    """Return the error of a call, which does not contain the key."""
    with pytest.raises(ProviderError) as error_info:
        ask(provider, is_response=is_response, **input)
    assert KEY not in str(error_info.value)
    return error_info.value
