"""Retrieval from an HTTP endpoint, which receives the text and embeds it itself."""

from typing import Final

from replay.live.retrieval.transport import Server
from replay.live.retrieval.types import HttpSearch, Retriever, Search
from replay.live.tools.http import HEADER, secrets
from traces.core.canonical import digest
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import find, pointer_tokens

_ID_LENGTH: Final = 16  # hex digits of a digest


def search(retriever: Retriever, store: HttpSearch, query: Search) -> list[JSONObject]:
    """Return the documents of the endpoint's answer, at most `top_k`."""
    headers = {**store.headers, **secrets(store.headers_env), HEADER: query.replay}
    server = Server(name=retriever.name, url=str(store.url), headers=headers, timeout_s=retriever.entry.timeout_s)
    body: JSONObject = {"query": query.query, "top_k": query.top_k}
    if query.filters:
        body["filters"] = query.filters
    if query.embedding is not None:
        body["embedding_profile"] = query.embedding
    documents = find(server.ask("", body), pointer_tokens(store.documents))
    if not isinstance(documents, list):
        raise server.invalid_response(f"there is no list of documents at “{store.documents or 'its root'}”")
    return [_document(server, store, item) for item in documents[: query.top_k]]


def _document(server: Server, store: HttpSearch, item: JSONValue) -> JSONObject:
    """Convert a document: a missing id is derived from the content, other fields become metadata."""
    fields: JSONObject = {store.content: item} if isinstance(item, str) else as_object(item)
    content, score = fields.get(store.content), fields.get(store.score)
    if not isinstance(content, str):
        raise server.invalid_response(f"a document has no text under “{store.content}”")
    recorded_id = fields.get(store.id)
    document: JSONObject = {
        "id": digest(content)[:_ID_LENGTH] if recorded_id is None else str(recorded_id),
        "content": content,
    }
    if isinstance(score, int | float):
        document["score"] = score
    own_fields = {store.id, store.content, store.score, "metadata"}
    rest = {name: value for name, value in fields.items() if name not in own_fields}
    rest = {**as_object(fields.get("metadata")), **rest}
    return {**document, "metadata": rest} if rest else document
