"""Live model calls: any provider that speaks the OpenAI or the Anthropic protocol."""

from replay.providers.calls import answer, close, warm
from replay.providers.configuration import configured, provider_for, register, unregister
from replay.providers.types import Cancelled, ModelAnswer, ModelCall, Provider, ProviderError

__all__ = [
    "Cancelled",
    "ModelAnswer",
    "ModelCall",
    "Provider",
    "ProviderError",
    "answer",
    "close",
    "configured",
    "provider_for",
    "register",
    "unregister",
    "warm",
]
