"""Which providers exist: the operator's, those whose key is in the environment, and the local model."""

import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from replay.live.operator_urls import spelling_problem
from replay.live.providers.types import Protocol, Provider

_KEYS: Final = frozenset({"protocol", "base_url", "api_key_env", "models", "description", "timeout_s"})
_PROTOCOLS: Final = ("openai", "anthropic")
_OFFICIAL: Final[dict[str, tuple[Protocol, str]]] = {
    "openai": ("openai", "https://api.openai.com/v1"),
    "anthropic": ("anthropic", "https://api.anthropic.com"),
}
# Recordings often name only the model; these families have one home.
_FAMILIES: Final = ((re.compile(r"(gpt-|o[1-9](-|$)|chatgpt-)"), "openai"), (re.compile(r"claude"), "anthropic"))
_registered: dict[str, Provider] = {}


def configured_providers() -> dict[str, Provider]:
    """The providers by name; raises `ImproperlyConfigured` naming the entry and the fix."""
    operator = {name: _operator_provider(name, entry) for name, entry in settings.PROVIDERS.items()}
    return {**_registered, **_official(), **operator}


def register(provider: Provider) -> None:
    """Make a provider that serves inside this process known; an operator's provider of its name wins."""
    _registered[provider.name] = provider


def unregister(name: str) -> None:
    _registered.pop(name, None)


def provider_for(step_provider: str, model: str, override: str | None) -> Provider | None:
    """The provider that answers a model step, or None: nothing that was configured can.

    An override is taken by its name alone. Otherwise the one of this process that serves the model, then the
    recorded one, then one that lists the model, then the home of the model's family, because many recordings
    name no provider.
    """
    known = configured_providers()
    if override:
        return known.get(override)
    listing = [provider for provider in known.values() if model in provider.models]
    if here := next((provider for provider in listing if provider.local), None):
        return here
    recorded = known.get(step_provider) or known.get(step_provider.lower())
    if recorded is not None and (not recorded.models or recorded in listing):
        return recorded
    return next(iter(listing), None) or recorded or (None if step_provider else _family_home(model, known))


def api_key(provider: Provider) -> str:
    return os.environ.get(provider.api_key_env, "") if provider.api_key_env else ""


def _family_home(model: str, known: Mapping[str, Provider]) -> Provider | None:
    return next((known[home] for family, home in _FAMILIES if family.match(model) and home in known), None)


def _official() -> dict[str, Provider]:
    return {
        name: _official_provider(name, protocol, url)
        for name, (protocol, url) in _OFFICIAL.items()
        if os.environ.get(f"{name.upper()}_API_KEY")
    }


def _official_provider(name: str, protocol: Protocol, url: str) -> Provider:
    given = os.environ.get(f"{name.upper()}_BASE_URL", "")
    return Provider(
        name=name,
        protocol=protocol,
        base_url=_base_url(given, f"{name.upper()}_BASE_URL") if given else url,
        api_key_env=f"{name.upper()}_API_KEY",
        operator=bool(given),
    )


def _operator_provider(name: str, entry: Mapping[str, Any]) -> Provider:
    where = f"FORKPOINT_PROVIDERS[{name!r}]"
    if unknown := sorted(entry.keys() - _KEYS):
        raise ImproperlyConfigured(f"{where} has unknown keys {unknown}: use {sorted(_KEYS)}.")
    if entry.get("protocol") not in _PROTOCOLS:
        raise ImproperlyConfigured(f"{where}.protocol is {entry.get('protocol')!r}: set it to 'openai' or 'anthropic'.")
    return Provider(
        name=name,
        protocol=entry["protocol"],
        base_url=_base_url(entry.get("base_url"), f"{where}.base_url"),
        api_key_env=_text(entry, "api_key_env", where),
        models=_models(entry.get("models", []), where),
        description=_text(entry, "description", where),
        timeout_s=_timeout(entry.get("timeout_s", 120), where),
    )


def _base_url(value: object, where: str) -> str:
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ImproperlyConfigured(f"{where} must be an http or https URL, as http://127.0.0.1:8123/v1.")
    if problem := spelling_problem(str(value)):
        raise ImproperlyConfigured(f"{where} cannot be used: {problem}.")
    return str(value).rstrip("/")


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise ImproperlyConfigured(f"{where}.{key} must be a text.")
    return value


def _models(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ImproperlyConfigured(f"{where}.models must be a list of model names.")
    return tuple(value)


def _timeout(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ImproperlyConfigured(f"{where}.timeout_s must be a number of seconds above 0.")
    return float(value)
