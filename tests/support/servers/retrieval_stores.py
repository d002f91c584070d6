"""One small library in every kind of store that a retriever can ask, and an embeddings endpoint for its queries."""

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final
from urllib.parse import quote

import httpx2
import psycopg
from psycopg.conninfo import make_conninfo

from tests.services import postgres
from tests.services.engines import chroma_url, qdrant_key, qdrant_url
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server

# Each word is a direction; a text points where its words do.
WORDS: Final = ("refund", "lost", "parcel", "gift", "card", "freight")
DOCUMENTS: Final[list[dict[str, Any]]] = [
    {"id": "a", "content": "lost parcel: a refund within fourteen days", "lang": "en", "year": 2024, "score": 0.9},
    {"id": "b", "content": "freight parcel: by carrier only", "lang": "en", "year": 2022, "score": 0.5},
    {"id": "c", "content": "gift card: no refund", "lang": "de", "year": 2023, "score": 0.1},
]


def vector(text: str) -> list[float]:
    return [float(text.count(word)) + 0.01 for word in WORDS]


@contextmanager
def embeddings_endpoint() -> Iterator[ProviderServer]:
    """Speaks OpenAI's embeddings interface."""

    def respond(exchange: Exchange) -> None:
        data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(exchange.body["input"])]
        exchange.status(200, {"object": "list", "data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}})

    with provider_server(respond) as running:
        yield running


def chroma(space: str = "cosine", vectors: list[list[float]] | None = None) -> dict[str, Any]:
    """The library in a collection of its own; the entry that reaches it."""
    name = f"library-{uuid.uuid4().hex[:12]}"
    place = f"{chroma_url()}/api/v2/tenants/default_tenant/databases/default_database/collections"
    configuration = {"hnsw": {"space": space}}
    made = httpx2.post(place, json={"name": name, "configuration": configuration}).raise_for_status().json()
    records = {
        "ids": [one["id"] for one in DOCUMENTS],
        "documents": [one["content"] for one in DOCUMENTS],
        "metadatas": [_metadata(one) for one in DOCUMENTS],
        "embeddings": vectors or [vector(one["content"]) for one in DOCUMENTS],
    }
    httpx2.post(f"{place}/{made['id']}/add", json=records).raise_for_status()
    return {"chroma": {"url": chroma_url(), "collection": name}}


def qdrant(distance: str = "Cosine") -> dict[str, Any]:
    """Points with a plain vector, and one of words that Qdrant makes itself."""
    name = f"Library {uuid.uuid4().hex[:12]}"  # a name that has to be quoted
    place = f"{qdrant_url()}/collections/{quote(name)}"
    headers = {"api-key": qdrant_key()} if qdrant_key() else {}
    made = {"vectors": {"dense": {"size": len(WORDS), "distance": distance}}, "sparse_vectors": {"words": {}}}
    httpx2.put(place, json=made, headers=headers).raise_for_status()
    points = [
        {
            "id": number,
            "payload": {"content": one["content"], **_metadata(one)},
            "vector": {
                "dense": vector(one["content"]),
                "words": {"text": one["content"], "model": "qdrant/bm25"},
            },
        }
        for number, one in enumerate(DOCUMENTS, 1)
    ]
    httpx2.put(f"{place}/points?wait=true", json={"points": points}, headers=headers).raise_for_status()
    os.environ["LIBRARY_KEY"] = qdrant_key()
    by = {"headers_env": {"api-key": "LIBRARY_KEY"}} if qdrant_key() else {}
    return {"qdrant": {"url": qdrant_url(), "collection": name, **by}}


def pgvector() -> dict[str, Any]:
    """A table in a database of its own."""
    name = f"Library {uuid.uuid4().hex[:12]}"  # a name that has to be quoted
    with psycopg.connect(_database(), autocommit=True) as connection:
        connection.execute(
            f'CREATE TABLE "{name}" (key text, content text, lang text, "Year" int, meta jsonb, place vector(6))'
        )
        for one in DOCUMENTS:
            connection.execute(
                f'INSERT INTO "{name}" VALUES (%s, %s, %s, %s, %s, %s::vector)',
                (
                    one["id"],
                    one["content"],
                    one["lang"],
                    one["year"],
                    json.dumps(_metadata(one)),
                    str(vector(one["content"])),
                ),
            )
    os.environ["LIBRARY_URL"] = _database()
    columns = {"id": "key", "vector": "place", "metadata": "meta", "columns": ["lang", "Year"]}
    return {"pgvector": {"url_env": "LIBRARY_URL", "table": name, **columns}}


@cache
def _database() -> str:
    """Beside the tests' own database where there is one, else on a server started for this."""
    server = os.environ.get("DATABASE_URL") or postgres.database_url()
    name = f"library_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    own = make_conninfo(server, dbname=name)
    with psycopg.connect(own, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    return own


def _metadata(document: dict[str, Any]) -> dict[str, Any]:
    return {"lang": document["lang"], "year": document["year"]}
