"""Retrievers behind an HTTP endpoint, which gets the text and embeds it itself."""

from typing import Final

from replay.live.retrieval.transport import Server
from replay.live.retrieval.types import HttpSearch, Retriever, Search
from replay.live.tools.http import HEADER, secrets
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

_ID_LENGTH: Final = 16  # of a digest: enough to tell documents apart


def search(retriever: Retriever, store: HttpSearch, asked: Search) -> list[JSONObject]:
    """The documents of its answer, at most as many as were asked for."""
    headers = {**store.headers, **secrets(store.headers_env), HEADER: asked.replay}
    server = Server(name=retriever.name, url=str(store.url), headers=headers, timeout_s=retriever.entry.timeout_s)
    body: JSONObject = {"query": asked.query, "top_k": asked.top_k}
    if asked.filters:
        body["filters"] = asked.filters
    if asked.embedding is not None:
        body["embedding_profile"] = asked.embedding
    found = _at(server.ask("", body), store.documents)
    if not isinstance(found, list):
        raise server.garbled(f"there is no list of documents at {store.documents or 'its root'!r}")
    return [_document(server, store, item) for item in found[: asked.top_k]]


def _at(value: JSONValue, pointer: str) -> JSONValue:
    """The value at a JSON pointer; None where there is none."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _document(server: Server, store: HttpSearch, item: JSONValue) -> JSONObject:
    """A document without an id is named by what it says; what has no place of its own is metadata."""
    given: JSONObject = {store.content: item} if isinstance(item, str) else item if isinstance(item, dict) else {}
    content, score = given.get(store.content), given.get(store.score)
    if not isinstance(content, str):
        raise server.garbled(f"a document has no text under {store.content!r}")
    known = given.get(store.id)
    document: JSONObject = {"id": digest(content)[:_ID_LENGTH] if known is None else str(known), "content": content}
    if isinstance(score, int | float):
        document["score"] = score
    named = {store.id, store.content, store.score, "metadata"}
    rest = {name: value for name, value in given.items() if name not in named}
    metadata = given.get("metadata")
    if isinstance(metadata, dict):
        rest = {**metadata, **rest}
    return {**document, "metadata": rest} if rest else document
