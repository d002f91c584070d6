"""One small library in every kind of vector store, and an embeddings endpoint for its queries."""

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
from tests.support.patience import patience_s
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server

# Each word is one dimension; a text's vector counts its words.
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
    """Serve OpenAI's embeddings interface."""

    def respond(exchange: Exchange) -> None:
        data = [{"index": index, "embedding": vector(text)} for index, text in enumerate(exchange.body["input"])]
        exchange.status(200, {"object": "list", "data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}})

    with provider_server(respond) as running:
        yield running


def chroma(space: str = "cosine", vectors: list[list[float]] | None = None) -> dict[str, Any]:
    """Store the library in a new collection; return its retriever configuration."""
    name = f"library-{uuid.uuid4().hex[:12]}"
    url = f"{chroma_url()}/api/v2/tenants/default_tenant/databases/default_database/collections"
    configuration = {"hnsw": {"space": space}}
    definition = {"name": name, "configuration": configuration}
    collection = httpx2.post(url, json=definition, timeout=patience_s(10)).raise_for_status().json()
    records = {
        "ids": [document["id"] for document in DOCUMENTS],
        "documents": [document["content"] for document in DOCUMENTS],
        "metadatas": [_metadata(document) for document in DOCUMENTS],
        "embeddings": vectors or [vector(document["content"]) for document in DOCUMENTS],
    }
    httpx2.post(f"{url}/{collection['id']}/add", json=records, timeout=patience_s(10)).raise_for_status()
    return {"chroma": {"url": chroma_url(), "collection": name}}


def qdrant(distance: str = "Cosine") -> dict[str, Any]:
    """Store the library with a dense vector and a BM25 vector computed by Qdrant; return its configuration."""
    name = f"Library {uuid.uuid4().hex[:12]}"  # a name that has to be quoted
    url = f"{qdrant_url()}/collections/{quote(name)}"
    headers = {"api-key": qdrant_key()} if qdrant_key() else {}
    definition = {"vectors": {"dense": {"size": len(WORDS), "distance": distance}}, "sparse_vectors": {"words": {}}}
    httpx2.put(url, json=definition, headers=headers, timeout=patience_s(10)).raise_for_status()
    points = [
        {
            "id": number,
            "payload": {"content": document["content"], **_metadata(document)},
            "vector": {
                "dense": vector(document["content"]),
                "words": {"text": document["content"], "model": "qdrant/bm25"},
            },
        }
        for number, document in enumerate(DOCUMENTS, 1)
    ]
    body = {"points": points}
    httpx2.put(f"{url}/points?wait=true", json=body, headers=headers, timeout=patience_s(10)).raise_for_status()
    os.environ["LIBRARY_KEY"] = qdrant_key()
    key_header = {"headers_env": {"api-key": "LIBRARY_KEY"}} if qdrant_key() else {}
    return {"qdrant": {"url": qdrant_url(), "collection": name, **key_header}}


def pgvector() -> dict[str, Any]:
    """Store the library in a new table; return its configuration."""
    name = f"Library {uuid.uuid4().hex[:12]}"  # a name that has to be quoted
    with psycopg.connect(_database(), autocommit=True) as connection:
        connection.execute(
            f'CREATE TABLE "{name}" (key text, content text, lang text, "Year" int, meta jsonb, place vector(6))'
        )
        for document in DOCUMENTS:
            connection.execute(
                f'INSERT INTO "{name}" VALUES (%s, %s, %s, %s, %s, %s::vector)',
                (
                    document["id"],
                    document["content"],
                    document["lang"],
                    document["year"],
                    json.dumps(_metadata(document)),
                    str(vector(document["content"])),
                ),
            )
    os.environ["LIBRARY_URL"] = _database()
    columns = {"id": "key", "vector": "place", "metadata": "meta", "columns": ["lang", "Year"]}
    return {"pgvector": {"url_env": "LIBRARY_URL", "table": name, **columns}}


@cache
def _database() -> str:
    """Create a database on the tests' PostgreSQL server, or on a server started for this; return its URL."""
    server = os.environ.get("DATABASE_URL") or postgres.database_url()
    name = f"library_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    library_url = make_conninfo(server, dbname=name)
    with psycopg.connect(library_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    return library_url


def _metadata(document: dict[str, Any]) -> dict[str, Any]:
    return {"lang": document["lang"], "year": document["year"]}
