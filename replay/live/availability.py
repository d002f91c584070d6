"""Which configured provider or retriever answers a call."""

from collections.abc import Sequence

from replay.core.calls import Call, RetrieverMatch
from replay.live import providers, retrieval
from replay.store.recorded_retriever import recorded_store


def provider_name(provider: str, model: str, override: str | None) -> str | None:
    """The name of the provider that answers calls of this provider and model, if one does."""
    found = providers.provider_for(provider, model, override)
    return None if found is None else found.name


def match_retriever(call: Call, known: Sequence[retrieval.Retriever] | None = None) -> RetrieverMatch:
    """The configured retriever that answers this retrieval live, or why none does."""
    profile = call.edits.retrieval.get("embedding_profile")
    node = call.node
    return retrieval.find_retriever(
        call.name,
        call.input,
        profile if isinstance(profile, str) else None,
        lambda: "" if node is None else recorded_store(node.id),
        known,
    )
