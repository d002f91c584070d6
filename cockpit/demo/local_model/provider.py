"""The local model as a model provider."""

from django.conf import settings

from cockpit.demo.local_model import server
from cockpit.demo.local_model.model import DESCRIPTION, MODELS
from replay.live import providers
from replay.live.providers import Provider

NAME = "local"


def start() -> Provider:
    """Serve the local model on loopback and register it, unless the operator configured a provider of that name."""
    provider = Provider(
        name=NAME if NAME not in settings.PROVIDERS else f"{NAME}-demo",
        protocol="openai",
        base_url=server.start(),
        models=MODELS,
        local=True,
        description=DESCRIPTION,
    )
    providers.register(provider)
    return provider


def is_running() -> bool:
    return any(provider.local for provider in providers.configured_providers().values())


def stop() -> None:
    for name in (NAME, f"{NAME}-demo"):
        providers.unregister(name)
    server.stop()
