"""One attempt at one live model call, through the official SDK of the provider's protocol."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from django.db import Error as DatabaseError

from replay.live import egress, pricing
from replay.live.providers import anthropic_protocol, openai_protocol
from replay.live.providers.configuration import api_key, configured_providers
from replay.live.providers.failures import INCOMPLETE, classified, garbage
from replay.live.providers.types import (
    Cancelled,
    IsCancelled,
    ModelAnswer,
    ModelCall,
    OnText,
    Provider,
    ProviderError,
    Streamed,
)
from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONObject

_CONNECT_S: Final = 10.0
# A server may never stop sending; no recorded answer comes near these.
_MOST_CHARACTERS: Final = 4_000_000
_MOST_BYTES: Final = 128 * 1024 * 1024  # the protocols spend many on each character
_LONGEST_S: Final = 1800.0
_STREAM: Final = "text/event-stream"
# A few: one for each configured provider, and one more whenever its key changes.
_clients: dict[tuple[Provider, str], Any] = {}


class _Assembly(Protocol):
    def add(self, piece: Any) -> int: ...
    def result(self) -> Streamed: ...


def answer(call: ModelCall, *, on_text: OnText, cancelled: IsCancelled) -> ModelAnswer:
    """Ask the provider once, streaming; raises `ProviderError`, or `Cancelled` between two chunks.

    `on_text` gets every piece of text as it comes. Nothing is retried here.
    """
    provider = configured_providers().get(call.provider)
    if provider is None:
        raise ProviderError(f"provider {call.provider!r} is not configured", code="not_configured", retryable=False)
    if cancelled():
        raise Cancelled
    started = time.perf_counter()
    streamed, left_out = _streamed(provider, call, on_text, cancelled)
    return _answered(provider, call, streamed, left_out, (time.perf_counter() - started) * 1000)


def warm() -> None:
    """Import the SDKs of the configured providers, which takes seconds, before the first call needs them."""
    for protocol in {provider.protocol for provider in configured_providers().values()}:
        _sdk(protocol)


def close() -> None:
    """Close the connections that are kept open; the next call opens its own."""
    while _clients:
        _clients.popitem()[1].close()


def _streamed(
    provider: Provider, call: ModelCall, on_text: OnText, cancelled: IsCancelled
) -> tuple[Streamed, tuple[str, ...]]:
    key = api_key(provider)
    protocol = openai_protocol if provider.protocol == "openai" else anthropic_protocol
    arguments, left_out = protocol.request(call)

    def look() -> None:
        if cancelled():
            raise Cancelled

    try:
        client = _client(provider, key)  # its import takes time that is not the provider's
        with (
            egress.read_limits(look, most_bytes=_MOST_BYTES, longest_s=_LONGEST_S),
            _opened(client, provider, arguments) as stream,
        ):
            return _read(provider, stream, protocol.Assembly(provider, on_text), look), left_out
    except (Cancelled, DatabaseError):  # of whoever reads along: no failure of the provider
        raise
    except Exception as error:
        # The SDKs let through whatever they did not expect; all of it is classified.
        raise classified(error, provider, key) from error


def _read(provider: Provider, stream: Any, assembly: _Assembly, look: Callable[[], None]) -> Streamed:
    characters = 0
    for piece in stream:
        look()
        characters += assembly.add(piece)
        if characters > _MOST_CHARACTERS:
            raise egress.EndlessAnswer("it is too large")
    try:
        return assembly.result()
    except ProviderError as error:
        kind = stream.response.headers.get("content-type", "no content type").partition(";")[0].strip()
        if error.code == INCOMPLETE and kind.lower() != _STREAM:
            raise garbage(provider, f"what it sent is {kind[:80]!r} and no stream") from error
        raise


def _answered(
    provider: Provider, call: ModelCall, streamed: Streamed, left_out: tuple[str, ...], duration_ms: float
) -> ModelAnswer:
    usage = streamed.usage
    output: JSONObject = {"message": streamed.message, "finish_reason": streamed.finish_reason}
    try:
        digest(output)
    except NotCanonical as error:
        raise garbage(provider, f"what it said cannot be stored: {error}") from error
    return ModelAnswer(
        output=output,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        cost_usd=pricing.price(
            provider.name, call.model, usage.tokens_in, usage.tokens_out, usage.tokens_cached, datetime.now(UTC)
        ),
        duration_ms=duration_ms,
        served_model=streamed.served_model or call.model,
        left_out=left_out,
    )


def _opened(client: Any, provider: Provider, arguments: dict[str, Any]) -> Any:
    if provider.protocol == "openai":
        return client.chat.completions.create(**arguments, stream=True, stream_options={"include_usage": True})
    return client.messages.create(**arguments, stream=True)


def _client(provider: Provider, key: str) -> Any:
    """The SDK's client, kept so that the next call finds its connection open.

    The key is always given: without one the SDKs would look for credentials of another host themselves.
    """
    if (provider, key) not in _clients:
        destination = egress.Destination(host=urlsplit(provider.base_url).hostname or "", operator=provider.operator)
        transport = egress.client([destination], connect_s=_CONNECT_S, read_s=provider.timeout_s)
        made = _sdk(provider.protocol)(
            api_key=key or "none", base_url=provider.base_url, max_retries=0, http_client=transport
        )
        _clients.setdefault((provider, key), made)
    return _clients[provider, key]


def _sdk(protocol: str) -> Any:
    """The client class of the protocol's official SDK, imported at its first use because that is slow."""
    if protocol == "openai":
        from openai import OpenAI  # noqa: PLC0415 - slow

        return OpenAI
    from anthropic import Anthropic  # noqa: PLC0415 - slow

    return Anthropic
