"""Retrieval from Qdrant, over its REST API."""

from typing import Final
from urllib.parse import quote

from replay.live.providers.types import ProviderError
from replay.live.retrieval.filters import Condition, UnknownFilter, conditions
from replay.live.retrieval.transport import Server
from replay.live.retrieval.types import Embedding, Qdrant, Retriever, Search
from replay.live.tools.http import HEADER, secrets
from traces.core.json_access import as_object, as_objects, as_string, has_list, member
from traces.core.json_types import JSONObject, JSONValue

_OWN: Final = frozenset({"must", "should", "must_not", "min_should"})
_DISTANCES: Final = frozenset({"Euclid", "Manhattan"})  # smaller is nearer
_RANGES: Final = {"$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


def search(
    retriever: Retriever, store: Qdrant, search_request: Search, embedding: Embedding, vector: list[float] | None
) -> list[JSONObject]:
    """Return the points nearest to the vector; without a vector Qdrant embeds the text itself."""
    headers = {**secrets(store.headers_env), HEADER: search_request.replay}
    server = Server(name=retriever.name, url=str(store.url), headers=headers, timeout_s=retriever.entry.timeout_s)
    place = f"/collections/{quote(store.collection, safe='')}"
    query: JSONValue = list(vector) if vector is not None else {"text": search_request.query, "model": embedding.engine}
    body: JSONObject = {"query": query, "limit": search_request.top_k, "with_payload": True}
    if embedding.vector is not None:
        body["using"] = embedding.vector
    if search_request.filters:
        body["filter"] = qdrant_filter(search_request.filters)
    answer = server.ask(f"{place}/points/query", body)
    result = member(answer, "result")
    if not has_list(result, "points"):
        raise server.invalid_response("without points")
    distances = _distance(server.ask(place), embedding.vector) in _DISTANCES
    return [_document(point, store.content, distances) for point in as_objects(member(result, "points"))]


def qdrant_filter(filters: JSONObject) -> JSONObject:
    """Convert filters to Qdrant's language. Qdrant's filters pass unchanged."""
    if set(filters) <= _OWN:
        return filters
    try:
        parsed_conditions = conditions(filters)
    except UnknownFilter as error:
        raise ProviderError(str(error), code="bad_request", retryable=False) from error
    must: list[JSONValue] = [_condition(condition) for condition in parsed_conditions if condition.operator != "$ne"]
    must_not: list[JSONValue] = [
        _matches(condition.field, condition.value) for condition in parsed_conditions if condition.operator == "$ne"
    ]
    return {**({"must": must} if must else {}), **({"must_not": must_not} if must_not else {})}


def _condition(condition: Condition) -> JSONObject:
    match condition.operator:
        case "$in":
            return {"key": condition.field, "match": {"any": condition.value}}
        case "$nin":
            return {"key": condition.field, "match": {"except": condition.value}}
        case "$gt" | "$gte" | "$lt" | "$lte":
            return {"key": condition.field, "range": {_RANGES[condition.operator]: condition.value}}
    return _matches(condition.field, condition.value)


def _matches(field: str, value: JSONValue) -> JSONObject:
    """Match a value; floats need a range, since Qdrant cannot match them."""
    if isinstance(value, float):
        return {"key": field, "range": {"gte": value, "lte": value}}
    return {"key": field, "match": {"value": value}}


def _distance(answer: JSONValue, name: str | None) -> str:
    """Return the collection's distance metric; empty if it is not configured."""
    vector_path = ["vectors"] if name is None else ["vectors", name]
    return as_string(member(answer, "result", "config", "params", *vector_path, "distance"))


def _document(point: JSONObject, content: str, distances: bool) -> JSONObject:
    payload = dict(as_object(point.get("payload")))
    text, score = payload.pop(content, ""), point.get("score")
    document: JSONObject = {"id": str(point.get("id")), "content": str(text)}
    if isinstance(score, int | float):
        document |= {"score": 1 / (1 + score), "distance": score} if distances else {"score": score}
    if set(payload) == {"metadata"} and isinstance(payload["metadata"], dict):
        payload = payload["metadata"]
    return {**document, "metadata": payload} if payload else document
