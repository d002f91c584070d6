"""Configured providers: the operator's, those whose key is in the environment, and the local model."""

import os
import re
from collections.abc import Mapping
from typing import Any, Final, get_args
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from diffing.sentences.text import format_value
from replay.live.operator_urls import spelling_problem
from replay.live.pricing import free_providers
from replay.live.providers.types import Protocol, Provider
from traces.core.json_access import is_number

_KEYS: Final = frozenset({"protocol", "base_url", "api_key_env", "models", "description", "timeout_s"})
_PROTOCOLS: Final[tuple[str, ...]] = get_args(Protocol)
_OFFICIAL: Final[dict[str, tuple[Protocol, str]]] = {
    "openai": ("openai", "https://api.openai.com/v1"),
    "anthropic": ("anthropic", "https://api.anthropic.com"),
    "google": ("gemini", "https://generativelanguage.googleapis.com"),
}
# Whose own addresses the gateway knows.
VENDORS: Final = frozenset(_OFFICIAL)
_KEY_VARIABLES: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}
_URL_VARIABLES: Final = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}
# Of protocols whose paths begin at the root: as addresses of their other operations have it.
_VERSIONS: Final = {"gemini": "/v1beta", "ollama": "/v1"}
# Ollama needs no key, so that its address configures it.
_OLLAMA_VARIABLE: Final = "OLLAMA_HOST"
_OLLAMA_PORT: Final = 11434
# A server that listens everywhere is reached on this machine.
_ANY_ADDRESSES: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
# Providers of model families, for recordings that name only the model.
_FAMILIES: Final = (
    (re.compile(r"(gpt-|o[1-9](-|$)|chatgpt-)"), "openai"),
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"(models/)?gemini"), "google"),
)
_local_providers: dict[str, Provider] = {}


def configured_providers() -> dict[str, Provider]:
    """Return the providers by name; raises `ImproperlyConfigured` that names the entry and the fix."""
    operator = {name: _operator_provider(name, entry) for name, entry in settings.PROVIDERS.items()}
    return {**_local_providers, **_official(), **operator}


def register(provider: Provider) -> None:
    """Register a provider that runs inside this process, free of charge; an operator's of the same name wins."""
    _local_providers[provider.name] = provider
    free_providers.add(provider.name)


def unregister(name: str) -> None:
    _local_providers.pop(name, None)
    free_providers.discard(name)


def provider_for(step_provider: str, model: str, override: str | None) -> Provider | None:
    """Find the configured provider that answers a model step, if any.

    An override selects by name alone. Without one the order is: a local provider that serves the model, the recorded
    provider, any provider that lists the model. Many recordings name no provider: then the one of the model's family,
    else the only one whose address the operator set and which serves any model.
    """
    providers = configured_providers()
    if override:
        return providers.get(override)
    serving_model = [provider for provider in providers.values() if model in provider.models]
    if local_provider := next((provider for provider in serving_model if provider.local), None):
        return local_provider
    recorded_provider = providers.get(step_provider) or providers.get(step_provider.lower())
    if recorded_provider is not None and (not recorded_provider.models or recorded_provider in serving_model):
        return recorded_provider
    return (
        next(iter(serving_model), None)
        or recorded_provider
        or (None if step_provider else _family_provider(model, providers) or _only_provider(model, providers))
    )


def address_of(step_provider: str, model: str) -> Provider | None:
    """Return the configured provider of a model step, or the vendor's own API without the key's variable being set."""
    if provider := provider_for(step_provider, model, None):
        return provider
    name = step_provider or next((name for family, name in _FAMILIES if family.match(model)), "")
    return _official_provider(name, *_OFFICIAL[name]) if name in _OFFICIAL else None


def api_key(provider: Provider) -> str:
    return os.environ.get(provider.api_key_env, "") if provider.api_key_env else ""


def _family_provider(model: str, providers: Mapping[str, Provider]) -> Provider | None:
    return next((providers[name] for family, name in _FAMILIES if family.match(model) and name in providers), None)


def _only_provider(model: str, providers: Mapping[str, Provider]) -> Provider | None:
    serving_any = [provider for provider in providers.values() if provider.operator and not provider.models]
    return serving_any[0] if model and len(serving_any) == 1 else None


def _official() -> dict[str, Provider]:
    vendors = {
        name: _official_provider(name, protocol, url)
        for name, (protocol, url) in _OFFICIAL.items()
        if os.environ.get(_KEY_VARIABLES[name])
    }
    host = os.environ.get(_OLLAMA_VARIABLE, "").strip()
    return {**vendors, "ollama": _ollama(host)} if host else vendors


def _ollama(host: str) -> Provider:
    url = _base_url(ollama_url(host), _OLLAMA_VARIABLE)
    return Provider(name="ollama", protocol="ollama", base_url=url, api_key_env="OLLAMA_API_KEY")


def ollama_url(host: str) -> str:
    """Return the address of a server from the spellings of Ollama: `gpu`, `:8080`, `0.0.0.0:8080`, `https://gpu/path`.

    >>> ollama_url("gpu")
    'http://gpu:11434'
    """
    scheme, separator, rest = host.rpartition("://")
    try:
        parts = urlsplit(f"{scheme or 'http'}://{rest}")
        name, port = parts.hostname or "127.0.0.1", parts.port or (None if separator else _OLLAMA_PORT)
    except ValueError:
        return host
    name = _ANY_ADDRESSES.get(name, name)
    place = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{place}{f':{port}' if port else ''}{parts.path}".rstrip("/")


def _official_provider(name: str, protocol: Protocol, url: str) -> Provider:
    variable = _URL_VARIABLES.get(name, "")
    base_url = os.environ.get(variable, "")
    return Provider(
        name=name,
        protocol=protocol,
        base_url=_base_url(base_url, variable) if base_url else url,
        api_key_env=_KEY_VARIABLES[name],
        operator=bool(base_url),
    )


def _operator_provider(name: str, entry: Mapping[str, Any]) -> Provider:
    location = f"FORKPOINT_PROVIDERS.{name}"
    if unknown := sorted(entry.keys() - _KEYS):
        raise ImproperlyConfigured(
            f"{location} has unknown keys ({', '.join(unknown)}): use {', '.join(sorted(_KEYS))}."
        )
    if entry.get("protocol") not in _PROTOCOLS:
        value = format_value(entry.get("protocol", ""))
        raise ImproperlyConfigured(f"{location}.protocol is {value}: set it to one of {', '.join(_PROTOCOLS)}.")
    base_url = _base_url(entry.get("base_url"), f"{location}.base_url")
    return Provider(
        name=name,
        protocol=entry["protocol"],
        base_url=base_url.removesuffix(_VERSIONS.get(entry["protocol"], "")),
        api_key_env=_text(entry, "api_key_env", location),
        models=_models(entry.get("models", []), location),
        description=_text(entry, "description", location),
        timeout_s=_timeout(entry.get("timeout_s", 120), location),
    )


def _base_url(value: object, location: str) -> str:
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ImproperlyConfigured(f"{location} must be an http or https URL, such as http://127.0.0.1:8123/v1.")
    if problem := spelling_problem(str(value)):
        raise ImproperlyConfigured(f"{location} cannot be used: {problem}.")
    return str(value).rstrip("/")


def _text(entry: Mapping[str, Any], key: str, location: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise ImproperlyConfigured(f"{location}.{key} must be a string.")
    return value


def _models(value: object, location: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ImproperlyConfigured(f"{location}.models must be a list of model names.")
    return tuple(value)


def _timeout(value: object, location: str) -> float:
    if not is_number(value) or value <= 0:
        raise ImproperlyConfigured(f"{location}.timeout_s must be a number of seconds above 0.")
    return float(value)
