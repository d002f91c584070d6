"""Retrieval from real stores: Chroma, Qdrant, PostgreSQL with pgvector, and an HTTP endpoint."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from pytest_django import Settings

from diffing.content import embeddings
from replay.live import retrieval
from replay.live.providers.types import ProviderError
from tests.support.patience import patience_s
from tests.support.servers import retrieval_stores as stores
from tests.support.servers.provider_server import ProviderServer, provider_server

pytestmark = pytest.mark.own_store  # nothing here touches the tests' own database
SMALL = {"provider": "vectors", "model": "small"}
Make = Callable[[], dict[str, Any]]


@pytest.fixture
def vectors(settings: Settings) -> Iterator[ProviderServer]:
    with stores.embeddings_endpoint() as running:
        settings.PROVIDERS = {"vectors": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield running


def retriever(settings: Settings, entry: dict[str, Any], **more: Any) -> retrieval.Retriever:
    vector = {"vector": "dense"} if "qdrant" in entry else {}
    settings.RETRIEVERS = {"library": {**entry, "embeddings": {"small": {**SMALL, **vector}}, **more}}
    return retrieval.configured_retrievers()["library"]


def find(
    searched_retriever: retrieval.Retriever,
    filters: dict[str, Any] | None = None,
    *,
    query: str = "lost parcel",
    top_k: int = 3,
) -> list[dict[str, Any]]:
    search = retrieval.Search(query=query, top_k=top_k, filters=filters or {}, embedding=None, replay="r1")
    return [dict(document) for document in retrieval.run(searched_retriever, search).documents]


def texts(documents: list[dict[str, Any]]) -> list[str]:
    """Return texts by their unique first word."""
    return [str(document["content"]).split()[0] for document in documents]


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("make", [stores.chroma, stores.qdrant, stores.pgvector])
class TestEveryStore:
    def test_nearest_documents_come_first(self, make: Make, settings: Settings) -> None:
        documents = find(retriever(settings, make()))
        assert texts(documents) == ["lost", "freight", "gift"]
        scores = [document["score"] for document in documents]
        assert scores == sorted(scores, reverse=True)
        assert 0.8 < scores[0] <= 1
        assert documents[0]["metadata"]["lang"] == "en"
        assert documents[0]["metadata"]["year"] == 2024
        assert documents[0]["content"] == stores.DOCUMENTS[0]["content"]

    def test_top_k_limits_the_documents(self, make: Make, settings: Settings) -> None:
        library = retriever(settings, make())
        assert len(find(library, top_k=2)) == 2
        assert find(library, top_k=0) == []

    @pytest.mark.parametrize(
        ("filters", "left"),
        [
            ({"lang": "de"}, ["gift"]),
            ({"lang": ["en", "fr"]}, ["lost", "freight"]),
            ({"lang": {"$ne": "de"}, "year": {"$gt": 2022}}, ["lost"]),
            ({"$and": [{"year": {"$gte": 2022}}, {"year": {"$lte": 2023}}]}, ["freight", "gift"]),
            ({"lang": {"$nin": ["en"]}}, ["gift"]),
            ({"year": {"$lt": 2000}}, []),
        ],
    )
    def test_filters_mean_the_same_everywhere(
        self, make: Make, settings: Settings, filters: dict[str, Any], left: list[str]
    ) -> None:
        assert texts(find(retriever(settings, make()), filters)) == left

    def test_unknown_filter_is_refused(self, make: Make, settings: Settings) -> None:
        with pytest.raises(ProviderError, match="is not an operator") as error_info:
            find(retriever(settings, make()), {"lang": {"$like": "d%"}})
        assert (error_info.value.code, error_info.value.retryable) == ("bad_request", False)

    def test_unreachable_store_is_retryable(self, make: Make, settings: Settings) -> None:
        entry = make()
        kind = next(iter(entry))
        if kind == "pgvector":
            os.environ["NOWHERE"] = "postgresql://postgres@127.0.0.1:1/none"
            entry[kind]["url_env"] = "NOWHERE"
        else:
            entry[kind]["url"] = "http://127.0.0.1:1"
        with pytest.raises(ProviderError) as failed:
            find(retriever(settings, entry))
        assert (failed.value.code, failed.value.retryable) == ("network", True)

    def test_missing_collection_is_named(self, make: Make, settings: Settings) -> None:
        entry = make()
        kind = next(iter(entry))
        entry[kind]["table" if kind == "pgvector" else "collection"] = "elsewhere"
        with pytest.raises(ProviderError, match="elsewhere") as failed:
            find(retriever(settings, entry))
        assert failed.value.retryable is False


@pytest.mark.parametrize(("make", "far"), [(lambda: stores.chroma("l2"), 3.0), (lambda: stores.qdrant("Euclid"), 1.7)])
@pytest.mark.usefixtures("vectors")
def test_score_grows_with_nearness(make: Make, far: float, settings: Settings) -> None:
    documents = find(retriever(settings, make()))
    assert documents[0]["score"] > documents[-1]["score"] > 0
    assert documents[0]["distance"] < documents[-1]["distance"]
    assert documents[-1]["distance"] > far


def test_query_uses_requested_embedding_profile(vectors: ProviderServer, settings: Settings) -> None:
    entry = stores.chroma()
    profiles = {"small": SMALL, "large": {**SMALL, "model": "large", "dimensions": 6}}
    settings.RETRIEVERS = {"library": {**entry, "embeddings": profiles, "embedding": "small"}}
    library = retrieval.configured_retrievers()["library"]
    for profile in ("large", None, "as recorded elsewhere"):
        result = retrieval.run(
            library, retrieval.Search(query="gift", top_k=1, filters={}, embedding=profile, replay="r1")
        )
        assert (result.tokens, result.cost_usd) == (4, None)  # the price of this provider is unknown
    assert [exchange.body["model"] for exchange in vectors.requests] == ["large", "small", "small"]
    assert [exchange.path for exchange in vectors.requests] == ["/v1/embeddings"] * 3
    assert vectors.requests[0].body["dimensions"] == 6


def test_qdrant_embeds_the_text_itself(settings: Settings) -> None:
    profiles = {"words": {"engine": "qdrant/bm25", "vector": "words"}}
    settings.RETRIEVERS = {"library": {**stores.qdrant(), "embeddings": profiles}}
    documents = find(retrieval.configured_retrievers()["library"], query="gift")
    assert texts(documents) == ["gift"]


def test_native_filters_pass_unchanged(vectors: ProviderServer, settings: Settings) -> None:
    chroma = retriever(settings, stores.chroma())
    assert texts(find(chroma, {"where_document": {"$contains": "gift"}})) == ["gift"]
    either: Any = {"$or": [{"year": 2022}, {"lang": "de"}]}
    assert texts(find(chroma, either)) == ["freight", "gift"]
    qdrant = retriever(settings, stores.qdrant())
    assert texts(find(qdrant, {"should": [{"key": "year", "match": {"value": 2022}}]})) == ["freight"]


@pytest.mark.usefixtures("vectors")
class TestPgvector:
    def test_columns_are_returned_and_filterable(self, settings: Settings) -> None:
        documents = find(retriever(settings, stores.pgvector()), {"Year": {"$gte": 2023}})
        assert [document["id"] for document in documents] == ["a", "c"]
        assert documents[0]["metadata"] == {"lang": "en", "year": 2024, "Year": 2024}

    @pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product", "l1"])
    def test_every_distance_finds_the_nearest(self, settings: Settings, distance: str) -> None:
        entry = stores.pgvector()
        entry["pgvector"]["distance"] = distance
        documents = find(retriever(settings, entry))
        assert texts(documents)[0] == "lost"
        assert documents[0]["score"] > documents[-1]["score"]

    def test_names_cannot_inject_sql(self, settings: Settings) -> None:
        entry = stores.pgvector()
        table = entry["pgvector"]["table"]
        entry["pgvector"]["columns"] = ['lang"; DROP TABLE x; --']
        with pytest.raises(ProviderError, match="does not exist"):
            find(retriever(settings, entry))
        entry["pgvector"] |= {"columns": ["lang"]}
        assert find(retriever(settings, entry), {"x') OR TRUE --": "y"}) == []
        assert find(retriever(settings, entry), {"lang": "en' OR 'a' = 'a"}) == []
        assert find(retriever(settings, entry), {"100%s": {"$gt": 1}}) == []
        with psycopg.connect(os.environ["LIBRARY_URL"]) as connection:
            assert connection.execute(f'SELECT count(*) FROM "{table}"').fetchone() == (3,)

    def test_query_is_read_only_and_limited(self, settings: Settings) -> None:
        entry = stores.pgvector()
        table, view = entry["pgvector"]["table"], "slow"
        with psycopg.connect(os.environ["LIBRARY_URL"], autocommit=True) as connection:
            connection.execute(
                "CREATE OR REPLACE FUNCTION writes() RETURNS text LANGUAGE plpgsql AS "
                "$$ BEGIN CREATE TABLE made (a int); RETURN 'x'; END $$"
            )
            connection.execute(
                f'CREATE OR REPLACE VIEW {view} AS SELECT *, pg_sleep(5) IS NULL AS waited FROM "{table}"'
            )
            connection.execute(
                f'CREATE OR REPLACE VIEW writing AS SELECT writes() AS key, content, place FROM "{table}"'
            )
        plain: dict[str, Any] = {"metadata": None, "columns": []}
        entry["pgvector"] |= {"table": "writing", **plain}
        with pytest.raises(ProviderError, match="read-only transaction"):
            find(retriever(settings, entry))
        entry["pgvector"] |= {"table": view}
        entry["pgvector"]["columns"] = ["waited"]
        with pytest.raises(ProviderError, match=r"did not answer in 0\.2 s") as late:
            find(retriever(settings, entry, timeout_s=0.2))
        assert (late.value.code, late.value.retryable) == ("timeout", True)


@pytest.fixture
def endpoint() -> Iterator[ProviderServer]:
    def respond(exchange: Any) -> None:
        exchange.status(
            200, {"found": {"hits": [{"key": "a", "text": "lost", "rank": 0.9, "lang": "en"}, "a bare text"]}}
        )

    with provider_server(respond) as running:
        yield running


def over_http(settings: Settings, running: ProviderServer, **more: Any) -> retrieval.Retriever:
    names = {"documents": "/found/hits", "id": "key", "content": "text", "score": "rank"}
    settings.RETRIEVERS = {"search": {"http": {"url": f"{running.base_url}/search", **names, **more}}}
    return retrieval.configured_retrievers()["search"]


def test_http_endpoint_receives_text_and_replay_header(endpoint: ProviderServer, settings: Settings) -> None:
    search = retrieval.Search(query="q", top_k=5, filters={"lang": "en"}, embedding="large", replay="r1")
    documents = retrieval.run(over_http(settings, endpoint), search).documents
    assert documents[0] == {"id": "a", "content": "lost", "score": 0.9, "metadata": {"lang": "en"}}
    assert documents[1]["content"] == "a bare text"
    assert documents[1]["id"]
    exchange = endpoint.requests[0]
    assert exchange.body == {"query": "q", "top_k": 5, "filters": {"lang": "en"}, "embedding_profile": "large"}
    assert exchange.headers["forkpoint-replay"] == "r1"


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "bad_request", False),
        (401, "auth", False),
        (404, "not_found", False),
        (302, "refused", False),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (503, "overloaded", True),
    ],
)
def test_failures_are_classified_by_status(
    endpoint: ProviderServer, settings: Settings, status: int, code: str, retryable: bool
) -> None:
    endpoint.respond = lambda exchange: exchange.status(status, {"error": "s3cret"}, retry_after="3")
    with pytest.raises(ProviderError) as failed:
        find(over_http(settings, endpoint))
    assert (failed.value.code, failed.value.retryable) == (code, retryable)
    assert failed.value.retry_after_s == (3.0 if retryable else None)
    assert ("s3cret" in str(failed.value)) is (code not in {"auth", "refused"})


@pytest.mark.parametrize("answer", ["no JSON", {"found": {}}, {"found": {"hits": [{"key": "a"}]}}, []])
def test_malformed_answer_is_reported(endpoint: ProviderServer, settings: Settings, answer: Any) -> None:
    endpoint.respond = lambda exchange: exchange.status(200, answer)
    with pytest.raises(ProviderError) as failed:
        find(over_http(settings, endpoint))
    assert failed.value.code == "invalid_response"


def test_missing_packaged_model_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RETRIEVERS = {"library": {**stores.chroma(), "embeddings": {"mini": {"local": "all-MiniLM-L6-v2"}}}}
    monkeypatch.setattr(embeddings, "is_installed", lambda: False)
    with pytest.raises(ProviderError, match="extra `semantic`"):
        find(retrieval.configured_retrievers()["library"])


@pytest.mark.semantic
def test_packaged_model_embeds_the_query(settings: Settings) -> None:
    contents = [document["content"] for document in stores.DOCUMENTS]
    vectors = embeddings.encode(contents)
    entry = stores.chroma(vectors=[vectors[text] for text in contents])
    settings.RETRIEVERS = {"library": {**entry, "embeddings": {"mini": {"local": "all-MiniLM-L6-v2"}}}}
    library = retrieval.configured_retrievers()["library"]
    # Neither query shares a word with the document that it means.
    assert texts(find(library, query="my package disappeared in the mail"))[0] == "lost"
    assert texts(find(library, query="a voucher as a present"))[0] == "gift"


def test_endless_and_compressed_answers_are_rejected(endpoint: ProviderServer, settings: Settings) -> None:
    def drips(exchange: Any) -> None:
        exchange.handler.send_response(200)
        exchange.handler.send_header("content-length", "1000")
        exchange.handler.end_headers()
        exchange.handler.close_connection = True
        with suppress(OSError):  # the other side has left
            for _ in range(600):
                exchange.handler.wfile.write(b" ")
                exchange.handler.wfile.flush()
                time.sleep(0.1)

    endpoint.respond = drips
    endpoint_retriever = over_http(settings, endpoint)
    settings.RETRIEVERS["search"]["timeout_s"] = 0.5
    started_at = time.monotonic()
    with pytest.raises(ProviderError, match=r"did not answer in 0\.5 s"):
        find(retrieval.configured_retrievers()["search"])
    assert time.monotonic() - started_at < patience_s(10)
    endpoint.respond = lambda exchange: exchange.status(200, "x", content_encoding="gzip")
    with pytest.raises(ProviderError, match="compressed"):
        find(endpoint_retriever)
