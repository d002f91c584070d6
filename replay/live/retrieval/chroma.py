"""Retrieval from a Chroma server, over its HTTP API (v2)."""

from typing import Final
from urllib.parse import quote

from replay.live.providers.types import ProviderError
from replay.live.retrieval.filters import Condition, UnknownFilter, conditions
from replay.live.retrieval.transport import Server
from replay.live.retrieval.types import Chroma, Retriever, Search
from replay.live.tools.http import HEADER, secrets
from traces.core.json_access import as_list, as_object, as_string, member
from traces.core.json_types import JSONObject, JSONValue

_INCLUDE: Final[list[JSONValue]] = ["documents", "metadatas", "distances"]
_OWN: Final = frozenset({"where", "where_document"})


def search(retriever: Retriever, store: Chroma, query: Search, vector: list[float]) -> list[JSONObject]:
    """Look up the collection by name, and return its documents nearest to the vector."""
    headers = {**secrets(store.headers_env), HEADER: query.replay}
    server = Server(name=retriever.name, url=str(store.url), headers=headers, timeout_s=retriever.entry.timeout_s)
    place = f"/api/v2/tenants/{quote(store.tenant, safe='')}/databases/{quote(store.database, safe='')}/collections"
    collection = server.ask(f"{place}/{quote(store.collection, safe='')}")
    collection_id = member(collection, "id")
    if not isinstance(collection_id, str):
        raise server.invalid_response("without the collection's id")
    body: JSONObject = {
        "query_embeddings": [list(vector)],
        "n_results": query.top_k,
        "include": _INCLUDE,
        **chroma_filter(query.filters),
    }
    return _documents(server, server.ask(f"{place}/{collection_id}/query", body), _space(collection))


def chroma_filter(filters: JSONObject) -> JSONObject:
    """Convert filters to Chroma's language: one condition, or several under `$and`.

    Chroma's filters pass unchanged.
    """
    if not filters:
        return {}
    if set(filters) <= _OWN:
        return filters
    if set(filters) <= {"$and", "$or"}:
        return {"where": filters}
    try:
        chroma_conditions: list[JSONValue] = [_condition(condition) for condition in conditions(filters)]
    except UnknownFilter as error:
        raise ProviderError(str(error), code="bad_request", retryable=False) from error
    return {"where": chroma_conditions[0] if len(chroma_conditions) == 1 else {"$and": chroma_conditions}}


def _condition(condition: Condition) -> JSONObject:
    return {condition.field: {condition.operator: condition.value}}


def _space(collection: JSONValue) -> str:
    configuration = as_object(member(collection, "configuration_json"))
    index = as_object(configuration.get("hnsw") or configuration.get("spann"))
    return str(index.get("space", "l2"))


def _documents(server: Server, answer: JSONValue, space: str) -> list[JSONObject]:
    columns = [_first(answer, name) for name in ("ids", "documents", "metadatas", "distances")]
    if any(len(column) != len(columns[0]) for column in columns):
        raise server.invalid_response("its columns differ in length")
    ids, contents, metadatas, distances = columns
    return [_document(*row, space) for row in zip(ids, contents, metadatas, distances, strict=True)]


def _first(answer: JSONValue, name: str) -> list[JSONValue]:
    """Return a column of the single query."""
    return as_list(next(iter(as_list(member(answer, name))), None))


def _document(id: JSONValue, content: JSONValue, metadata: JSONValue, distance: JSONValue, space: str) -> JSONObject:
    document: JSONObject = {"id": str(id), "content": as_string(content)}
    if isinstance(distance, int | float):
        document |= {"score": 1 / (1 + distance) if space == "l2" else 1 - distance, "distance": distance}
    return {**document, "metadata": metadata} if isinstance(metadata, dict) and metadata else document
