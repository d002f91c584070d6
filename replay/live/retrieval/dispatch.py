"""One search, by the kind of the store."""

from replay.live.providers.types import ProviderError
from replay.live.retrieval import chroma, embedding, http, pgvector, qdrant
from replay.live.retrieval.types import Chroma, HttpSearch, Pgvector, Qdrant, Retriever, Search, SearchResult
from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONObject


def run(retriever: Retriever, asked: Search) -> SearchResult:
    """Raises `ProviderError`. Nothing is asked for no documents: not every store takes a zero."""
    found = _run(retriever, asked) if asked.top_k > 0 else SearchResult(documents=[])
    try:
        digest(list(found.documents))
    except NotCanonical as error:
        detail = f"{retriever.name} answered with documents that cannot be stored: {error}"
        raise ProviderError(detail, code="invalid_response", retryable=False) from error
    return found


def _run(retriever: Retriever, asked: Search) -> SearchResult:
    store = retriever.entry.store
    if isinstance(store, HttpSearch):
        return SearchResult(documents=http.search(retriever, store, asked))
    name = retriever.embedding(asked.embedding)
    by = retriever.entry.embeddings[name]
    if isinstance(store, Qdrant) and by.engine is not None:
        return SearchResult(documents=qdrant.search(retriever, store, asked, by, None), embedding=name)
    vector = embedding.vector(by, asked.query)
    documents: list[JSONObject]
    match store:
        case Chroma():
            documents = chroma.search(retriever, store, asked, vector.values)
        case Qdrant():
            documents = qdrant.search(retriever, store, asked, by, vector.values)
        case Pgvector():
            documents = pgvector.search(retriever, store, asked, by, vector.values)
    return SearchResult(documents=documents, embedding=name, tokens=vector.tokens, cost_usd=vector.cost_usd)
