"""Where the gateway sends the calls of a provider, and with which key."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from forkpoint.gateway_run import LANE_HEADER, STEP_HEADER
from replay.live.providers.configuration import api_key, configured_providers
from replay.live.providers.types import key_header

# An agent without a key of its own gets this one; the gateway replaces it by the key that the server has.
PLACEHOLDER_KEY: Final = "forkpoint-gateway"
_BASE_URLS: Final = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
_OFFICIAL_HOSTS: Final = frozenset(urlsplit(url).hostname for url in _BASE_URLS.values())
# Of an Ollama beside an embedded server, where none is configured.
_OLLAMA_URL: Final = "http://127.0.0.1:11434/v1"
_VARIABLES: Final = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}
_KEY_VARIABLES: Final = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "ollama": "OLLAMA_API_KEY",
}
# Never sent on: they concern one connection, or name this server.
_CONNECTION_HEADERS: Final = frozenset(
    {
        "connection",
        "content-length",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# They describe a request, and contain nothing that is for one provider only.
_NEUTRAL_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "anthropic-beta", "anthropic-version", "content-type", "openai-beta", "user-agent"}
)
# What an answer depends on besides its request.
_VERSION_HEADERS: Final = frozenset({"anthropic-beta", "anthropic-version", "openai-beta"})
# Also without what is set anew, and what is meant for the gateway.
_DROPPED_HEADERS: Final = _CONNECTION_HEADERS | {"accept-encoding", LANE_HEADER, STEP_HEADER}
# The length stays: a client that knows it does not wait for the end of the response.
_ANSWER_HEADERS: Final = (_CONNECTION_HEADERS - {"content-length"}) | {
    "alt-svc",
    "date",
    "server",
    "set-cookie",
    "strict-transport-security",
}
Headers = list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Upstream:
    """A provider's address, its key if the server has one, and the names of its models as far as they are known."""

    base_url: str
    key: str
    models: tuple[str, ...]


def find(provider: str) -> Upstream:
    """Return the provider as the server is configured, else the official one; raise `ImproperlyConfigured`."""
    setting, key = configured_providers().get(provider), key_of(provider)
    if setting is not None:
        base_url = setting.openai_url if setting.protocol == "ollama" else setting.base_url
        return Upstream(base_url=base_url, key=key, models=setting.models)
    if provider == "ollama":
        if not settings.EMBEDDED:
            # The machine of this server is not the agent's.
            raise ImproperlyConfigured("the server knows no Ollama: set OLLAMA_HOST in its environment")
        return Upstream(base_url=_OLLAMA_URL, key=key, models=())
    base_url = os.environ.get(_VARIABLES[provider]) or _BASE_URLS[provider]
    return Upstream(base_url=base_url.rstrip("/"), key=key, models=())


def key_of(provider: str) -> str:
    """Return the key of a provider; empty if the server has none."""
    setting = configured_providers().get(provider)
    return os.environ.get(_KEY_VARIABLES[provider], "") if setting is None else api_key(setting)


def is_official(host: str) -> bool:
    """Return whether a host is a vendor's own, and not one that the operator names: it has no private address."""
    providers = configured_providers().values()
    names = {urlsplit(setting.base_url).hostname for setting in providers if setting.operator}
    return host in _OFFICIAL_HOSTS - names


def protocol(provider: str) -> str:
    """Return the protocol of a provider that the server is configured with; empty if there is none of this name."""
    setting = configured_providers().get(provider)
    return "" if setting is None else setting.protocol


def request_headers(headers: Iterable[tuple[bytes, bytes]], key: str) -> Headers:
    """Return the headers to send on, in which the server's key replaces the placeholder.

    The answer is asked for without compression, so that it can be recorded as it is passed on.
    """
    texts = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    pairs = [(name, value) for name, value in texts if name not in _DROPPED_HEADERS]
    return [*((name, value.replace(PLACEHOLDER_KEY, key)) for name, value in pairs), ("accept-encoding", "identity")]


def version_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers that are a part of a call, sorted. Their values are sets, on one line or on several."""
    values: dict[str, set[str]] = {}
    for name, value in headers:
        if (text := name.decode("latin-1").lower()) in _VERSION_HEADERS:
            values.setdefault(text, set()).update(item.strip() for item in value.decode("latin-1").split(","))
    return [(name, ",".join(sorted(values[name]))) for name in sorted(values)]


def headers_for_other(headers: Iterable[tuple[bytes, bytes]], protocol: str, key: str) -> Headers:
    """Return the headers for a provider that a fork asks in place of the agent's.

    Only those that describe the request, and the server's key: the agent's own is for its provider alone.
    """
    pairs = [(name, value) for name, value in request_headers(headers, "") if name in _NEUTRAL_HEADERS]
    name, prefix = key_header(protocol)
    return [*pairs, *([(name, prefix + key)] if key else [])]


def answer_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer to pass on."""
    return [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in headers
        if name.lower() not in _ANSWER_HEADERS
    ]
