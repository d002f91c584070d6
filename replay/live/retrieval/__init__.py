"""Live retrieval from Chroma, Qdrant, PostgreSQL with pgvector, and HTTP endpoints."""

from replay.live.retrieval.configuration import configured_retrievers, find_retriever
from replay.live.retrieval.types import Retriever, Search, SearchResult

__all__ = ["Retriever", "Search", "SearchResult", "configured_retrievers", "find_retriever", "run"]


def run(retriever: Retriever, search: Search) -> SearchResult:
    """Search once, read-only; raises `ProviderError`. Nothing is retried here."""
    from replay.live.retrieval import dispatch  # noqa: PLC0415 - HTTP clients are slow to import, and most runs need none

    return dispatch.run(retriever, search)
