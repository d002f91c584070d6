"""Live retrieval: Chroma, Qdrant, PostgreSQL with pgvector, and HTTP endpoints, as the operator configured them."""

from replay.live.retrieval.configuration import configured, serving
from replay.live.retrieval.types import Found, Retriever, Search

__all__ = ["Found", "Retriever", "Search", "configured", "run", "serving"]


def run(retriever: Retriever, search: Search) -> Found:
    """Search once, reading only; raises `ProviderError`. Nothing is retried here."""
    from replay.live.retrieval import dispatch  # noqa: PLC0415 - HTTP clients are slow to import, and most runs need none

    return dispatch.run(retriever, search)
