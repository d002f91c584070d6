"""Compressed responses contain the same bytes."""

import gzip
from collections.abc import Callable
from contextlib import closing

import orjson
import pytest
import zstandard
from django.conf import settings
from django.test import Client

from tests.support.recordings import conversation
from traces.core.ids import new_id
from traces.runs import services
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


@pytest.mark.parametrize(("encoding", "decode"), [("gzip", gzip.decompress), ("zstd", zstandard.decompress)])
def test_steps_arrive_compressed(encoding: str, decode: Callable[[bytes], bytes]) -> None:
    run = services.record(conversation(200)).run_id
    path = f"/api/v1/runs/{run}/steps"
    plain = Client().get(path)
    compact = Client().get(path, headers={"Accept-Encoding": encoding})
    assert compact["Content-Encoding"] == encoding
    assert int(compact["Content-Length"]) == len(compact.content) < len(plain.content) / 5
    assert decode(compact.content) == plain.content
    # A cache between server and client must not mix them up.
    assert all("Accept-Encoding" in response["Vary"] for response in (plain, compact))


def test_small_responses_stay_as_they_are() -> None:
    response = Client().get("/api/v1/ready", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in response


def test_a_compressed_artifact_is_known_by_its_weak_tag() -> None:
    text = "All work and no play. " * 200
    digest = artifacts.write(orjson.dumps(text), media_type="application/json", run_id=new_id())
    first = Client().get(f"/api/v1/artifacts/{digest}", headers={"Accept-Encoding": "gzip"})
    assert (first["Content-Encoding"], first["ETag"]) == ("gzip", f'W/"{digest}"')
    again = Client().get(f"/api/v1/artifacts/{digest}", headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("accept", "encoding"), [("gzip, deflate, br, zstd", "br"), ("gzip, deflate", "gzip"), ("identity", None)]
)
def test_assets_are_stored_in_the_encoding_that_a_browser_accepts(accept: str, encoding: str | None) -> None:
    """The policies of a document are not among their headers: they would be a tenth of a first load."""
    script = next(path for path in (settings.FRONTEND_DIST / "assets").glob("*.js") if path.stat().st_size > 10_000)
    with closing(Client().get(f"/assets/{script.name}", headers={"Accept-Encoding": accept})) as response:
        pass
    assert response.headers.get("Content-Encoding") == encoding
    assert "Accept-Encoding" in response["Vary"]
    assert "Content-Security-Policy" not in response
    assert response["X-Content-Type-Options"] == "nosniff"
