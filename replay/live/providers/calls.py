"""One attempt at a live model call, through the official SDK of the provider's protocol where there is one."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import orjson
from django.db import Error as DatabaseError

from replay.live import egress, pricing
from replay.live.providers import (
    anthropic_protocol,
    gemini_protocol,
    json_streams,
    ollama_protocol,
    openai_protocol,
    responses_protocol,
)
from replay.live.providers.configuration import api_key, configured_providers
from replay.live.providers.failures import INCOMPLETE, Interruption, classify, garbage
from replay.live.providers.types import (
    Cancelled,
    IsCancelled,
    ModelAnswer,
    ModelCall,
    OnText,
    Provider,
    ProviderError,
    StreamResult,
    key_header,
)
from traces.core.canonical import NotCanonical, digest
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject


class _Assembly(Protocol):
    def add(self, piece: Any) -> int: ...
    def result(self, *, is_whole: bool) -> StreamResult: ...


class _Protocol(Protocol):
    def request(self, call: ModelCall) -> tuple[dict[str, Any], tuple[str, ...]]: ...
    def Assembly(self, provider: Provider, on_text: OnText) -> _Assembly: ...  # noqa: N802 - a class
    def pieces(self, body: JSONObject) -> list[JSONObject]: ...


class _NativeProtocol(_Protocol, Protocol):
    def address(self, provider: Provider, call: ModelCall) -> str: ...


_CONNECT_S: Final = 10.0
# Limits for servers that never stop sending; no recorded answer comes near them.
_MOST_CHARACTERS: Final = 4_000_000
_MOST_BYTES: Final = 128 * 1024 * 1024  # the protocols need many bytes per character
_LONGEST_S: Final = 1800.0
_STREAMS: Final = frozenset({"text/event-stream", "application/x-ndjson"})
# Providers that are asked without an SDK.
_NATIVE: Final[dict[str, _NativeProtocol]] = {"gemini": gemini_protocol, "ollama": ollama_protocol}
_JSON: Final = "application/json"
# Small: one client per configured provider, and another one whenever its key changes.
_clients: dict[tuple[Provider, str], Any] = {}


def answer(call: ModelCall, *, on_text: OnText, cancelled: IsCancelled) -> ModelAnswer:
    """Call the provider once, streaming; raises `ProviderError`, or `Cancelled` between two chunks.

    `on_text` receives each piece of text when it arrives. Nothing is retried here.
    """
    provider = configured_providers().get(call.provider)
    if provider is None:
        raise ProviderError(f"provider “{call.provider}” is not configured", code="not_configured", retryable=False)
    if cancelled():
        raise Cancelled
    started_at = time.perf_counter()
    result, left_out = _stream_answer(provider, call, on_text, cancelled)
    return _model_answer(provider, call, result, left_out, (time.perf_counter() - started_at) * 1000)


def warm() -> None:
    """Import the SDKs of the configured providers, which takes seconds, before the first call needs them."""
    for protocol in {provider.protocol for provider in configured_providers().values()} - _NATIVE.keys():
        _sdk(protocol)


def close() -> None:
    """Close idle connections; the next call opens a new one."""
    while _clients:
        _clients.popitem()[1].close()


def _stream_answer(
    provider: Provider, call: ModelCall, on_text: OnText, cancelled: IsCancelled
) -> tuple[StreamResult, tuple[str, ...]]:
    key = api_key(provider)
    protocol = _protocol(provider, call)
    arguments, left_out = protocol.request(call)

    def check() -> None:
        if cancelled():
            raise Cancelled

    try:
        # Outside the limits, since its import takes time.
        client = _client(provider, key)
        with (
            egress.read_limits(check, max_bytes=_MOST_BYTES, max_s=_LONGEST_S),
            _open_stream(client, provider, call, arguments) as stream,
        ):
            return _read(provider, stream, protocol, on_text, check), left_out
    except (Cancelled, DatabaseError):
        # Raised by the caller's callbacks, not by the provider.
        raise
    except Exception as error:
        # The SDKs pass unexpected errors through; all of them are classified.
        raise classify(error, provider, key) from error


def _read(
    provider: Provider, stream: Any, protocol: _Protocol, on_text: OnText, check: Callable[[], None]
) -> StreamResult:
    kind = stream.response.headers.get("content-type", "no content type").partition(";")[0].strip()
    # Some servers, and proxies before them, answer the request for a stream with the whole answer.
    is_whole = kind.lower() == _JSON
    assembly = protocol.Assembly(provider, on_text)
    characters = 0
    for piece in _whole_pieces(provider, stream, protocol) if is_whole else stream:
        check()
        characters += assembly.add(piece)
        if characters > _MOST_CHARACTERS:
            raise egress.EndlessAnswer("it is too large")
    try:
        return assembly.result(is_whole=is_whole)
    except ProviderError as error:
        if error.code == INCOMPLETE and kind.lower() not in _STREAMS:
            raise garbage(provider, f"its content type is “{kind[:80]}”, not an event stream") from error
        raise


def _whole_pieces(provider: Provider, stream: Any, protocol: _Protocol) -> list[JSONObject]:
    body = as_object(orjson.loads(stream.response.read()))
    if body.get("error"):
        raise Interruption(body)
    pieces = protocol.pieces(body)
    if not pieces:
        raise garbage(provider, "its JSON contains no message")
    return pieces


def _model_answer(
    provider: Provider, call: ModelCall, result: StreamResult, left_out: tuple[str, ...], duration_ms: float
) -> ModelAnswer:
    usage = result.usage
    finish: JSONObject = {"finish_reason": result.finish_reason} if result.finish_reason else {}
    output: JSONObject = {"message": result.message, **finish}
    try:
        digest(output)
    except NotCanonical as error:
        raise garbage(provider, f"the answer cannot be stored: {error}") from error
    return ModelAnswer(
        output=output,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        cost_usd=pricing.price(
            provider.name, call.model, usage.tokens_in, usage.tokens_out, usage.tokens_cached, datetime.now(UTC)
        ),
        duration_ms=duration_ms,
        served_model=result.served_model or call.model,
        left_out=left_out,
    )


def _protocol(provider: Provider, call: ModelCall) -> _Protocol:
    if provider.protocol in _NATIVE:
        return _NATIVE[provider.protocol]
    if provider.protocol == "anthropic":
        return anthropic_protocol
    return responses_protocol if call.is_response else openai_protocol


def _open_stream(client: Any, provider: Provider, call: ModelCall, arguments: dict[str, Any]) -> Any:
    if native := _NATIVE.get(provider.protocol):
        key, (header, prefix) = api_key(provider), key_header(provider.protocol)
        headers = {header: prefix + key} if key else {}
        return json_streams.open_stream(client, native.address(provider, call), headers, arguments)
    if provider.protocol == "anthropic":
        return client.messages.create(**arguments, stream=True)
    if call.is_response:
        # By default, the provider would keep the answer for weeks.
        return client.responses.create(extra_body={**arguments, "store": False}, stream=True)
    # In `extra_body`, which the SDK sends as it is. In its own arguments, it looks for keys to rename: that takes
    # 0.2 ms per message of a history.
    return client.chat.completions.create(
        model=arguments["model"],
        messages=[],
        extra_body=arguments,
        stream=True,
        stream_options={"include_usage": True},
    )


def _client(provider: Provider, key: str) -> Any:
    """Return the SDK's client, or a plain one for a provider without an SDK.

    It is cached, so that the next call reuses its connection. A key is always passed: without one the SDKs would look
    up credentials for another host.
    """
    if (provider, key) not in _clients:
        destination = egress.Destination(host=urlsplit(provider.base_url).hostname or "", operator=provider.operator)
        transport = egress.client([destination], connect_s=_CONNECT_S, read_s=provider.timeout_s)
        if provider.protocol in _NATIVE:
            client: Any = transport
        else:
            sdk = _sdk(provider.protocol)
            client = sdk(api_key=key or "none", base_url=provider.base_url, max_retries=0, http_client=transport)
        _clients.setdefault((provider, key), client)
    return _clients[provider, key]


def _sdk(protocol: str) -> Any:
    """Return the client class of the protocol's official SDK, imported at first use because that is slow."""
    if protocol == "openai":
        from openai import OpenAI  # noqa: PLC0415 - slow

        return OpenAI
    from anthropic import Anthropic  # noqa: PLC0415 - slow

    return Anthropic
