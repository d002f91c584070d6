"""Qdrant's REST interface as the product meets it, said to Qdrant's official client and in bare HTTP.

Without a server of your own the statements hold of the tests' server (`tests/services/qdrant_server.py`), whose HTTP is
ours and whose engine is Qdrant's. With TEST_QDRANT_URL (and TEST_QDRANT_API_KEY) they hold of Qdrant itself.
"""

import gc
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from pytest_django import Settings

from replay.live import retrieval
from replay.live.providers.types import ProviderError
from tests.services import qdrant_wire
from tests.services.engines import PACKAGES, qdrant_key, qdrant_url
from tests.support.patience import patience_s
from tests.support.servers import retrieval_stores as stores

pytestmark = pytest.mark.own_store
VECTOR = stores.vector("lost parcel")
QUERY = "/{}/points/query"


@pytest.fixture(scope="module")
def name() -> str:
    collection: str = stores.qdrant()["qdrant"]["collection"]
    return collection


@pytest.fixture(scope="module")
def official() -> Iterator[Any]:
    # The client imports httpx. A stream of another client that ends during that import finds half of a module.
    gc.collect()
    client = qdrant_wire.client(PACKAGES, qdrant_url(), qdrant_key())
    yield client
    client.close()


def ask(method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
    key = {"api-key": qdrant_key()} if qdrant_key() else {}
    all_headers = {
        "accept-encoding": "identity",
        **key,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return httpx2.request(method, qdrant_url() + path, json=body, headers=all_headers, timeout=patience_s(10))


def test_official_client_accepts_every_answer(official: Any, name: str) -> None:
    wire = qdrant_wire.models(PACKAGES)
    request = wire.QueryRequest(query=VECTOR, using="dense", limit=2, with_payload=True)
    points_found = official.search_api.query_points(collection_name=name, query_request=request).result.points
    assert [point.payload["content"] for point in points_found] == [
        stores.DOCUMENTS[0]["content"],
        stores.DOCUMENTS[1]["content"],
    ]
    assert points_found[0].score > points_found[1].score
    collection = official.collections_api.get_collection(collection_name=name).result
    assert collection.points_count == 3
    assert collection.config.params.vectors["dense"].distance == wire.Distance.COSINE
    creation = official.collections_api.create_collection(
        collection_name=f"{name} 2",
        create_collection=wire.CreateCollection(vectors=wire.VectorParams(size=2, distance="Dot")),
    )
    assert creation.result is True
    points = wire.PointsList(points=[wire.PointStruct(id=7, vector=[0.5, 1.0], payload={"lang": "en"})])
    upsert = official.points_api.upsert_points(collection_name=f"{name} 2", wait=True, point_insert_operations=points)
    assert upsert.result.status == wire.UpdateStatus.COMPLETED
    assert official.collections_api.delete_collection(collection_name=f"{name} 2").result is True


@pytest.mark.parametrize(
    ("method", "place", "body", "status", "says"),
    [
        ("GET", "/none", None, 404, "Not found: Collection `none` doesn't exist!"),
        ("POST", "/none/points/query", {"query": VECTOR}, 404, "Not found: Collection `none` doesn't exist!"),
        ("PUT", "/{}", {"vectors": {"size": 2, "distance": "Dot"}}, 409, "already exists!"),
        ("POST", QUERY, {"query": [1.0], "using": "dense"}, 400, "Vector dimension error: expected dim: 6, got 1"),
        ("POST", QUERY, {"query": VECTOR, "using": "other"}, 400, "Not existing vector name error: other"),
        ("POST", QUERY, {"query": VECTOR}, 400, "Not existing vector name error"),
        ("POST", QUERY, {"query": VECTOR, "filter": {"must": 3}}, 400, "Format error in JSON body"),
        ("POST", QUERY, {"query": VECTOR, "using": "dense", "limit": 0}, 422, "Validation error in JSON body"),
        ("POST", QUERY, {"query": {"text": "a", "model": "nobody/knows"}, "using": "dense"}, 500, "Inference"),
    ],
)
def test_refusal_names_the_error(name: str, method: str, place: str, body: Any, status: int, says: str) -> None:
    response = ask(method, f"/collections{place.format(quote(name))}", body)
    assert response.status_code == status
    assert says in response.json()["status"]["error"]


def test_unknown_path_is_answered_with_404() -> None:
    response = ask("GET", "/nowhere")
    assert (response.status_code, response.content) == (404, b"")


def test_answers_are_compressed_on_request(name: str) -> None:
    plain, compressed_answer = (
        ask("GET", f"/collections/{quote(name)}"),
        ask("GET", f"/collections/{quote(name)}", accept_encoding="gzip"),
    )
    assert "content-encoding" not in plain.headers
    assert compressed_answer.headers["content-encoding"] == "gzip"
    assert compressed_answer.json()["result"] == plain.json()["result"]


@pytest.fixture
def key() -> str:
    return qdrant_key() or pytest.skip("this server asks for no key")


def test_key_is_required_in_either_header(name: str, key: str) -> None:
    place = f"{qdrant_url()}/collections/{quote(name)}"
    for right in ({"api-key": key}, {"authorization": f"Bearer {key}"}):
        assert httpx2.get(place, headers=right, timeout=patience_s(10)).status_code == 200
    for wrong, says in (({}, "Must provide an API key"), ({"api-key": "wrong"}, "Invalid API key or JWT")):
        response = httpx2.get(place, headers=wrong, timeout=patience_s(10))
        assert (response.status_code, says in response.text) == (401, True)
    assert httpx2.get(f"{qdrant_url()}/healthz", timeout=patience_s(10)).status_code == 200


@pytest.mark.usefixtures("key")
def test_wrong_key_fails_the_search(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings = {"embeddings": {"words": {"engine": "qdrant/bm25", "vector": "words"}}}
    settings.RETRIEVERS = {"library": {**stores.qdrant(), **embeddings}}
    monkeypatch.setenv("LIBRARY_KEY", "wr0ng")
    search = retrieval.Search(query="gift", top_k=1, filters={}, embedding=None, replay="r1")
    with pytest.raises(ProviderError, match="rejected the credentials") as failed:
        retrieval.run(retrieval.configured_retrievers()["library"], search)
    assert (failed.value.code, failed.value.retryable) == ("auth", False)
    assert "wr0ng" not in str(failed.value)
