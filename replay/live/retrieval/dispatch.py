"""Dispatch of a search to the configured kind of store."""

from replay.live.providers.types import ProviderError
from replay.live.retrieval import chroma, embedding, http, pgvector, qdrant
from replay.live.retrieval.types import Chroma, HttpSearch, Pgvector, Qdrant, Retriever, Search, SearchResult
from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONObject


def run(retriever: Retriever, search: Search) -> SearchResult:
    """Search the configured store.

    Raises `ProviderError`. A search for 0 documents makes no call, since not every store accepts 0.
    """
    result = _run(retriever, search) if search.top_k > 0 else SearchResult(documents=[])
    try:
        digest(list(result.documents))
    except NotCanonical as error:
        detail = f"{retriever.name} answered with documents that cannot be stored: {error}"
        raise ProviderError(detail, code="invalid_response", retryable=False) from error
    return result


def _run(retriever: Retriever, search: Search) -> SearchResult:
    store = retriever.entry.store
    if isinstance(store, HttpSearch):
        return SearchResult(documents=http.search(retriever, store, search))
    name = retriever.embedding(search.embedding)
    embedding_entry = retriever.entry.embeddings[name]
    if isinstance(store, Qdrant) and embedding_entry.engine is not None:
        return SearchResult(documents=qdrant.search(retriever, store, search, embedding_entry, None), embedding=name)
    vector = embedding.vector(embedding_entry, search.query)
    documents: list[JSONObject]
    match store:
        case Chroma():
            documents = chroma.search(retriever, store, search, vector.values)
        case Qdrant():
            documents = qdrant.search(retriever, store, search, embedding_entry, vector.values)
        case Pgvector():
            documents = pgvector.search(retriever, store, search, embedding_entry, vector.values)
    return SearchResult(documents=documents, embedding=name, tokens=vector.tokens, cost_usd=vector.cost_usd)
