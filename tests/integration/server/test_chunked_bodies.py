"""Bodies that clients send in chunks, without a length, as exporters in JavaScript do."""

from collections.abc import Iterator

import httpx2
import orjson
import pytest

from tests.services.server import Server
from tests.support.arriving_spans import model, request, root, tool
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {"FORKPOINT_QUIET_S": "0", "FORKPOINT_MAX_BODY_MB": "66"}
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=environment)
    server.start()
    yield server
    server.stop()


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 60_000):
        yield body[start : start + 60_000]


def _post(server: Server, path: str, body: bytes) -> httpx2.Response:
    return HTTP.post(
        f"{server.url}{path}",
        content=_pieces(body),
        headers={"Content-Type": "application/json"},
        timeout=patience_s(60),
    )


@pytest.mark.parametrize(("trace", "padding"), [("aa" * 16, 10), ("bb" * 16, 3_000_000)])
def test_spans_are_recorded(server: Server, trace: str, padding: int) -> None:
    spans = request(root(trace), model(trace), {**tool(trace), "droppedNote": "x" * padding})
    assert _post(server, "/v1/traces", spans).status_code == 200
    run = wait_until(lambda: _run(server, trace), 20)
    assert run["steps"] == 3


def _run(server: Server, trace: str) -> dict[str, int] | None:
    response = HTTP.get(f"{server.url}/api/v1/runs/{trace}", timeout=patience_s(10))
    summary: dict[str, int] = response.json()
    return summary if response.status_code == 200 else None


def test_json_is_read(server: Server) -> None:
    response = _post(server, "/api/v1/diffs", orjson.dumps({"base": "none", "candidate": "none"}))
    assert response.status_code == 404


def test_body_above_the_limit_is_refused(server: Server) -> None:
    response = _post(server, "/v1/traces", bytes(67 * 1024 * 1024))
    assert response.status_code == 413
