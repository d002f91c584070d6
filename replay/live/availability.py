"""Lookup of the configured provider or retriever that answers a call."""

from collections.abc import Sequence

from replay.core.calls import Call, RetrieverMatch
from replay.live import providers, retrieval
from replay.store.recorded_retriever import recorded_store


def provider_name(provider: str, model: str, override: str | None) -> str | None:
    """Name of the configured provider that answers calls of a recorded provider and model, if any."""
    match = providers.provider_for(provider, model, override)
    return None if match is None else match.name


def agent_provider_name(provider: str, model: str, override: str | None) -> str | None:
    """Name of the provider that answers an agent that runs: it asks that of the recording, with a key of its own."""
    if not override and provider in providers.VENDORS:
        return provider
    return provider_name(provider, model, override)


def match_retriever(call: Call, retrievers: Sequence[retrieval.Retriever] | None = None) -> RetrieverMatch:
    """Find the configured retriever that answers this retrieval live, or the reason why there is none."""
    profile = call.edits.retrieval.get("embedding_profile")
    node = call.node
    return retrieval.find_retriever(
        call.name,
        call.input,
        profile if isinstance(profile, str) else None,
        lambda: "" if node is None else recorded_store(node.id),
        retrievers,
    )
