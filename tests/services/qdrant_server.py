"""Qdrant's REST interface on Qdrant's own engine, because no package contains its server.

From Qdrant: the server's engine (`qdrant-edge-py`), i.e. distances, scores, order, filters, named and sparse vectors,
BM25, and its error messages about vectors; and the models generated from its interface (`qdrant-client`), which parse
requests and serialise responses, so that unknown fields are rejected. Ours: HTTP, the six routes below, and the other
statuses and messages, copied from the server. `tests/integration/live/test_qdrant_server.py` checks them, also against
your own server (TEST_QDRANT_URL).

    python -m tests.services.qdrant_server PORT FOLDER PACKAGES
"""

import gzip
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from tests.services import qdrant_wire

# The server's name of the variable.
KEY: Final = "QDRANT__SERVICE__API_KEY"
_BM25: Final = "qdrant/bm25"
_PUBLIC_PATHS: Final = frozenset({"/", "/healthz", "/livez", "/readyz"})


class RequestError(Exception):
    """An error response: its status and message, which may be empty."""

    def __init__(self, status: int, error: str = "") -> None:
        super().__init__(error)
        self.status = status


class Collection:
    def __init__(self, engine: Any, wire: Any, folder: Path, definition: Any) -> None:
        self.engine, self.wire, self.definition = engine, wire, definition
        vector_parameters = definition.vectors if isinstance(definition.vectors, dict) else {"": definition.vectors}
        vectors = {
            name: engine.EdgeVectorParams(
                size=parameters.size, distance=getattr(engine.Distance, str(parameters.distance.value))
            )
            for name, parameters in vector_parameters.items()
        }
        sparse = {
            name: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)
            for name in definition.sparse_vectors or {}
        }
        folder.mkdir()
        self.shard = engine.EdgeShard.create(str(folder), engine.EdgeConfig(vectors=vectors, sparse_vectors=sparse))

    def info(self) -> Any:
        """Return the server's defaults and the collection's definition."""
        shard_info = self.shard.info()
        params = {
            "vectors": self.definition.vectors,
            "sparse_vectors": self.definition.sparse_vectors,
            "shard_number": 1,
        }
        config = {
            "params": {**params, "replication_factor": 1, "write_consistency_factor": 1, "on_disk_payload": True},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, "max_indexing_threads": 0},
            "optimizer_config": {
                "deleted_threshold": 0.2,
                "vacuum_min_vector_number": 1000,
                "default_segment_number": 0,
                "flush_interval_sec": 5,
            },
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        }
        return self.wire.CollectionInfo(
            status="green",
            optimizer_status="ok",
            config=config,
            payload_schema={},
            points_count=shard_info.points_count,
            segments_count=shard_info.segments_count,
            indexed_vectors_count=shard_info.indexed_vectors_count,
        )

    def upsert(self, body: Any) -> Any:
        request = self.wire.PointsList.model_validate(body)
        points = [self.engine.Point(point.id, self.vector(point.vector), point.payload) for point in request.points]
        self._run(lambda: self.shard.update(self.engine.UpdateOperation.upsert_points(points)))
        return self.wire.UpdateResult(operation_id=0, status="completed")

    def vector(self, value: Any) -> Any:
        vectors = value if isinstance(value, dict) else {"": value}
        return {
            name: self.text(value, "embed_document") if hasattr(value, "text") else value
            for name, value in vectors.items()
        }

    def text(self, document: Any, method: str) -> Any:
        if document.model != _BM25:
            raise RequestError(500, "Service internal error: InferenceService is not initialized.")
        return getattr(self.engine.Bm25(), method)(document.text)

    def query(self, body: Any) -> Any:
        request = self.wire.QueryRequest.model_validate(body)
        if request.limit is not None and request.limit < 1:
            raise RequestError(
                422, f"Validation error in JSON body: [limit: value {request.limit} invalid, must be 1 or larger]"
            )
        vector = self.text(request.query, "embed_query") if hasattr(request.query, "text") else request.query
        engine_request = self.engine.QueryRequest(
            limit=request.limit or 10,
            query=self.engine.Query.Nearest(vector, using=request.using or ""),
            with_payload=bool(request.with_payload),
            filter=None if request.filter is None else self.filter(request.filter),
        )
        matches = self._run(lambda: self.shard.query(engine_request))
        points = [
            {"id": point.id, "version": point.version, "score": point.score, "payload": point.payload}
            for point in matches
        ]
        return self.wire.QueryResponse(points=points)

    def _run(self, work: Any) -> Any:
        try:
            return work()
        except Exception as error:  # noqa: BLE001  # as the server: engine errors are client errors
            raise RequestError(400, f"Wrong input: {error}") from error

    def filter(self, condition: Any) -> Any:
        def convert(conditions: Any) -> Any:
            items = conditions if isinstance(conditions, list) or conditions is None else [conditions]
            return items and [self.condition(item) for item in items]

        return self.engine.Filter(
            must=convert(condition.must), should=convert(condition.should), must_not=convert(condition.must_not)
        )

    def condition(self, condition: Any) -> Any:
        if not hasattr(condition, "key"):
            return self.filter(condition)
        return self.engine.FieldCondition(
            key=condition.key, match=self.match(condition.match), range=self.range(condition.range)
        )

    def match(self, match: Any) -> Any:
        if match is None:
            return None
        if hasattr(match, "value"):
            return self.engine.MatchValue(match.value)
        if hasattr(match, "any"):
            return self.engine.MatchAny(match.any)
        return self.engine.MatchExcept(match.except_)

    def range(self, range: Any) -> Any:
        return range and self.engine.RangeFloat(gt=range.gt, gte=range.gte, lt=range.lt, lte=range.lte)


class Server:
    """Collections by name, and the routes to them."""

    def __init__(self, folder: Path, packages: Path) -> None:
        import qdrant_edge

        self.engine, self.wire, self.folder = qdrant_edge, qdrant_wire.models(packages), folder
        self.collections: dict[str, Collection] = {}
        self._count = 0

    def answer(self, method: str, path: str, data: bytes) -> Any:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[0] != "collections" or len(parts) < 2:
            raise RequestError(404)
        try:
            return self.in_collections(method, parts[1], parts[2:], json.loads(data or b"null"))
        except (json.JSONDecodeError, ValidationError) as error:
            raise RequestError(400, f"Format error in JSON body: {error}") from error

    def in_collections(self, method: str, name: str, parts: list[str], body: Any) -> Any:
        match (method, parts):
            case ("PUT", []):
                return self.create(name, body)
            case ("DELETE", []):
                return self.collections.pop(name, None) is not None
            case ("GET", []):
                return self.collection(name).info()
            case ("PUT", ["points"]):
                return self.collection(name).upsert(body)
            case ("POST", ["points", "query"]):
                return self.collection(name).query(body)
        raise RequestError(404)

    def collection(self, name: str) -> Collection:
        if name not in self.collections:
            raise RequestError(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    def create(self, name: str, body: Any) -> bool:
        definition = self.wire.CreateCollection.model_validate(body)
        if name in self.collections:
            raise RequestError(409, f"Wrong input: Collection `{name}` already exists!")
        self._count += 1
        self.collections[name] = Collection(self.engine, self.wire, self.folder / str(self._count), definition)
        return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    library: Server
    key = ""

    def reply(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path).path
        if path in _PUBLIC_PATHS:
            return self.send(200, b"healthz check passed", "text/plain")
        if self.key and (error := self.refusal()):
            return self.send(401, error.encode(), "text/plain")
        try:
            result, status = self.library.answer(self.command, path, data), 200
        except RequestError as error:
            if not str(error):
                return self.send(error.status, b"", "text/plain")
            return self.send_json(error.status, {"status": {"error": str(error)}, "time": 0.0})
        body = result if isinstance(result, bool) else result.model_dump(mode="json", exclude_none=True)
        return self.send_json(status, {"result": body, "status": "ok", "time": 0.0})

    def refusal(self) -> str:
        """Return why the request's key is rejected, or an empty string. Two headers may carry it."""
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        key = self.headers.get("api-key") or bearer
        if not key:
            return "Must provide an API key or an Authorization bearer token"
        return "" if key == self.key else "Invalid API key or JWT"

    def send_json(self, status: int, body: dict[str, Any]) -> None:
        self.send(status, json.dumps(body).encode(), "application/json")

    def send(self, status: int, data: bytes, kind: str) -> None:
        """Send a response, compressed if the client accepts it."""
        use_gzip = "gzip" in self.headers.get("Accept-Encoding", "")
        payload = gzip.compress(data) if use_gzip else data
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        if use_gzip:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_PUT = do_POST = do_DELETE = reply

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


def serve(port: int, folder: Path, packages: Path) -> None:
    Handler.library, Handler.key = Server(folder, packages), os.environ.get(KEY, "")
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
