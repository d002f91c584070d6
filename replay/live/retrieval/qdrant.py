"""Retrieval from Qdrant, over its REST interface."""

from typing import Final
from urllib.parse import quote

from replay.live.providers.types import ProviderError
from replay.live.retrieval.filters import Condition, UnknownFilter, conditions
from replay.live.retrieval.transport import Server
from replay.live.retrieval.types import Embedding, Qdrant, Retriever, Search
from replay.live.tools.http import HEADER, secrets
from traces.core.json_types import JSONObject, JSONValue

_OWN: Final = frozenset({"must", "should", "must_not", "min_should"})
_DISTANCES: Final = frozenset({"Euclid", "Manhattan"})  # of these less is nearer
_RANGES: Final = {"$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


def search(
    retriever: Retriever, store: Qdrant, asked: Search, embedding: Embedding, vector: list[float] | None
) -> list[JSONObject]:
    """The points nearest to the vector; without one Qdrant embeds the text itself."""
    headers = {**secrets(store.headers_env), HEADER: asked.replay}
    server = Server(name=retriever.name, url=str(store.url), headers=headers, timeout_s=retriever.entry.timeout_s)
    place = f"/collections/{quote(store.collection, safe='')}"
    query: JSONValue = list(vector) if vector is not None else {"text": asked.query, "model": embedding.engine}
    body: JSONObject = {"query": query, "limit": asked.top_k, "with_payload": True}
    if embedding.vector is not None:
        body["using"] = embedding.vector
    if asked.filters:
        body["filter"] = own_filter(asked.filters)
    answer = server.ask(f"{place}/points/query", body)
    result = answer.get("result") if isinstance(answer, dict) else None
    points = result.get("points") if isinstance(result, dict) else None
    if not isinstance(points, list):
        raise server.garbled("without points")
    distances = _distance(server.ask(place), embedding.vector) in _DISTANCES
    return [_document(point, store.content, distances) for point in points if isinstance(point, dict)]


def own_filter(filters: JSONObject) -> JSONObject:
    """Qdrant's own filters as they are, others in its words."""
    if set(filters) <= _OWN:
        return filters
    try:
        found = conditions(filters)
    except UnknownFilter as error:
        raise ProviderError(str(error), code="bad_request", retryable=False) from error
    must: list[JSONValue] = [_condition(one) for one in found if one.operator != "$ne"]
    without: list[JSONValue] = [_matches(one.field, one.value) for one in found if one.operator == "$ne"]
    return {**({"must": must} if must else {}), **({"must_not": without} if without else {})}


def _condition(one: Condition) -> JSONObject:
    match one.operator:
        case "$in":
            return {"key": one.field, "match": {"any": one.value}}
        case "$nin":
            return {"key": one.field, "match": {"except": one.value}}
        case "$gt" | "$gte" | "$lt" | "$lte":
            return {"key": one.field, "range": {_RANGES[one.operator]: one.value}}
    return _matches(one.field, one.value)


def _matches(field: str, value: JSONValue) -> JSONObject:
    """Qdrant matches no floating numbers: a range of one number does."""
    if isinstance(value, float):
        return {"key": field, "range": {"gte": value, "lte": value}}
    return {"key": field, "match": {"value": value}}


def _distance(answer: JSONValue, name: str | None) -> str:
    """How the collection measures; empty where it does not say."""
    value = answer
    for part in ("result", "config", "params", "vectors", *([name] if name is not None else []), "distance"):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _document(point: JSONObject, content: str, distances: bool) -> JSONObject:
    given = point.get("payload")
    payload = dict(given) if isinstance(given, dict) else {}
    text, score = payload.pop(content, ""), point.get("score")
    document: JSONObject = {"id": str(point.get("id")), "content": text if isinstance(text, str) else str(text)}
    if isinstance(score, int | float):
        document |= {"score": 1 / (1 + score), "distance": score} if distances else {"score": score}
    if set(payload) == {"metadata"} and isinstance(payload["metadata"], dict):
        payload = payload["metadata"]
    return {**document, "metadata": payload} if payload else document
