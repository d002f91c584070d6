"""Live model calls, through any provider with the protocol of OpenAI, Anthropic, Gemini or Ollama."""

from urllib.parse import quote

from replay.live.providers.configuration import (
    VENDORS,
    address_of,
    configured_providers,
    provider_for,
    register,
    unregister,
)
from replay.live.providers.types import (
    Cancelled,
    IsCancelled,
    ModelAnswer,
    ModelCall,
    OnText,
    Protocol,
    Provider,
    ProviderError,
)
from traces.core.json_types import JSONObject

__all__ = [
    "VENDORS",
    "Cancelled",
    "ModelAnswer",
    "ModelCall",
    "Provider",
    "ProviderError",
    "address_of",
    "answer",
    "close",
    "configured_providers",
    "left_out",
    "provider_for",
    "register",
    "request_body",
    "request_path",
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
    provider = configured_providers().get(call.provider)
    return () if provider is None else request_body(provider.protocol, call)[1]


def request_body(protocol: Protocol, call: ModelCall) -> tuple[JSONObject, tuple[str, ...]]:
    """Return the JSON that a protocol sends, and the names of the parameters that it cannot express."""
    from replay.live.providers import (  # noqa: PLC0415 - as above
        anthropic_protocol,
        gemini_protocol,
        ollama_protocol,
        openai_protocol,
        responses_protocol,
    )

    if protocol == "openai":
        return responses_protocol.request(call) if call.is_response else openai_protocol.request(call)
    if protocol == "anthropic":
        arguments, names = anthropic_protocol.request(call)
        extra = arguments.pop("extra_body")
        return {**arguments, **extra}, names
    return gemini_protocol.request(call) if protocol == "gemini" else ollama_protocol.request(call)


def request_path(protocol: Protocol, call: ModelCall) -> str:
    """Return the path below a provider's base URL to which the JSON goes, for an answer that is no stream."""
    match protocol:
        case "openai":
            return "/responses" if call.is_response else "/chat/completions"
        case "anthropic":
            return "/v1/messages"
        case "gemini":
            return f"/v1beta/models/{quote(call.model.removeprefix('models/'), safe='')}:generateContent"
        case "ollama":
            return "/api/chat"


def warm() -> None:
    """Import the SDKs of the configured providers, which takes seconds, before the first call needs them."""
    from replay.live.providers import calls  # noqa: PLC0415 - as above

    calls.warm()


def close() -> None:
    """Close idle connections; the next call opens a new one."""
    from replay.live.providers import calls  # noqa: PLC0415 - as above

    calls.close()
