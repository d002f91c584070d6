"""Live model calls, through any provider with the OpenAI or the Anthropic protocol."""

from replay.live.providers.configuration import configured_providers, provider_for, register, unregister
from replay.live.providers.types import Cancelled, IsCancelled, ModelAnswer, ModelCall, OnText, Provider, ProviderError

__all__ = [
    "Cancelled",
    "ModelAnswer",
    "ModelCall",
    "Provider",
    "ProviderError",
    "answer",
    "close",
    "configured_providers",
    "left_out",
    "provider_for",
    "register",
    "unregister",
    "warm",
]


def answer(call: ModelCall, *, on_text: OnText, cancelled: IsCancelled) -> ModelAnswer:
    """Call the provider once, streaming; raises `ProviderError`, or `Cancelled` between two chunks.

    `on_text` receives each piece of text when it arrives. Nothing is retried here.
    """
    from replay.live.providers import calls  # noqa: PLC0415 - HTTP clients are slow to import, and most processes make no calls

    return calls.answer(call, on_text=on_text, cancelled=cancelled)


def left_out(call: ModelCall) -> tuple[str, ...]:
    """Names of the parameters that the provider's protocol cannot express.

    Empty if the provider is not configured.
    """
    from replay.live.providers import anthropic_protocol, openai_protocol  # noqa: PLC0415 - as above

    provider = configured_providers().get(call.provider)
    if provider is None:
        return ()
    if provider.protocol == "openai":
        return openai_protocol.request(call)[1]
    return anthropic_protocol.request(call)[1]


def warm() -> None:
    """Import the SDKs of the configured providers, which takes seconds, before the first call needs them."""
    from replay.live.providers import calls  # noqa: PLC0415 - as above

    calls.warm()


def close() -> None:
    """Close idle connections; the next call opens a new one."""
    from replay.live.providers import calls  # noqa: PLC0415 - as above

    calls.close()
