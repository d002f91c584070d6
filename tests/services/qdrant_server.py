"""Qdrant's REST interface over Qdrant's own engine, because no package brings its server.

Qdrant's: the engine that the server is built on (`qdrant-edge-py`), so distances, scores, order, filters, named and
sparse vectors, BM25, and the words in which it refuses vectors; and the models that Qdrant generates from its
interface (`qdrant-client`), through which requests are read and answers are written, so that a field that it does
not have is refused. Ours: HTTP, the six addresses below, and the statuses and words around the engine's, as the
server has them. `tests/integration/live/test_qdrant_server.py` says them again, and holds them against a server of your
own as well (TEST_QDRANT_URL).

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

KEY: Final = "QDRANT__SERVICE__API_KEY"  # the server's own name for it
_BM25: Final = "qdrant/bm25"
_OPEN: Final = frozenset({"/", "/healthz", "/livez", "/readyz"})


class Refused(Exception):
    """A status and what is said with it; empty: nothing."""

    def __init__(self, status: int, error: str = "") -> None:
        super().__init__(error)
        self.status = status


class Collection:
    def __init__(self, engine: Any, wire: Any, folder: Path, asked: Any) -> None:
        self.engine, self.wire, self.asked = engine, wire, asked
        given = asked.vectors if isinstance(asked.vectors, dict) else {"": asked.vectors}
        vectors = {
            name: engine.EdgeVectorParams(size=one.size, distance=getattr(engine.Distance, str(one.distance.value)))
            for name, one in given.items()
        }
        sparse = {
            name: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf) for name in asked.sparse_vectors or {}
        }
        folder.mkdir()
        self.shard = engine.EdgeShard.create(str(folder), engine.EdgeConfig(vectors=vectors, sparse_vectors=sparse))

    def info(self) -> Any:
        """The server's defaults, and what the collection was made with."""
        held = self.shard.info()
        params = {"vectors": self.asked.vectors, "sparse_vectors": self.asked.sparse_vectors, "shard_number": 1}
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
            points_count=held.points_count,
            segments_count=held.segments_count,
            indexed_vectors_count=held.indexed_vectors_count,
        )

    def upsert(self, body: Any) -> Any:
        asked = self.wire.PointsList.model_validate(body)
        points = [self.engine.Point(point.id, self.vector(point.vector), point.payload) for point in asked.points]
        self._asked_of_engine(lambda: self.shard.update(self.engine.UpdateOperation.upsert_points(points)))
        return self.wire.UpdateResult(operation_id=0, status="completed")

    def vector(self, given: Any) -> Any:
        named = given if isinstance(given, dict) else {"": given}
        return {name: self.text(one, "embed_document") if hasattr(one, "text") else one for name, one in named.items()}

    def text(self, document: Any, how: str) -> Any:
        if document.model != _BM25:
            raise Refused(500, "Service internal error: InferenceService is not initialized.")
        return getattr(self.engine.Bm25(), how)(document.text)

    def query(self, body: Any) -> Any:
        asked = self.wire.QueryRequest.model_validate(body)
        if asked.limit is not None and asked.limit < 1:
            raise Refused(
                422, f"Validation error in JSON body: [limit: value {asked.limit} invalid, must be 1 or larger]"
            )
        vector = self.text(asked.query, "embed_query") if hasattr(asked.query, "text") else asked.query
        request = self.engine.QueryRequest(
            limit=asked.limit or 10,
            query=self.engine.Query.Nearest(vector, using=asked.using or ""),
            with_payload=bool(asked.with_payload),
            filter=None if asked.filter is None else self.filter(asked.filter),
        )
        found = self._asked_of_engine(lambda: self.shard.query(request))
        points = [
            {"id": each.id, "version": each.version, "score": each.score, "payload": each.payload} for each in found
        ]
        return self.wire.QueryResponse(points=points)

    def _asked_of_engine(self, work: Any) -> Any:
        try:
            return work()
        except Exception as error:  # noqa: BLE001  # as the server: what the engine refuses is the asker's mistake
            raise Refused(400, f"Wrong input: {error}") from error

    def filter(self, given: Any) -> Any:
        def listed(conditions: Any) -> Any:
            several = conditions if isinstance(conditions, list) or conditions is None else [conditions]
            return several and [self.condition(each) for each in several]

        return self.engine.Filter(must=listed(given.must), should=listed(given.should), must_not=listed(given.must_not))

    def condition(self, given: Any) -> Any:
        if not hasattr(given, "key"):
            return self.filter(given)
        return self.engine.FieldCondition(key=given.key, match=self.match(given.match), range=self.range(given.range))

    def match(self, given: Any) -> Any:
        if given is None:
            return None
        if hasattr(given, "value"):
            return self.engine.MatchValue(given.value)
        if hasattr(given, "any"):
            return self.engine.MatchAny(given.any)
        return self.engine.MatchExcept(given.except_)

    def range(self, given: Any) -> Any:
        return given and self.engine.RangeFloat(gt=given.gt, gte=given.gte, lt=given.lt, lte=given.lte)


class Server:
    """The collections, by name, and the addresses that reach them."""

    def __init__(self, folder: Path, packages: Path) -> None:
        import qdrant_edge

        self.engine, self.wire, self.folder = qdrant_edge, qdrant_wire.models(packages), folder
        self.collections: dict[str, Collection] = {}
        self._made = 0

    def answer(self, method: str, path: str, data: bytes) -> Any:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[0] != "collections" or len(parts) < 2:
            raise Refused(404)
        try:
            return self.in_collections(method, parts[1], parts[2:], json.loads(data or b"null"))
        except (json.JSONDecodeError, ValidationError) as error:
            raise Refused(400, f"Format error in JSON body: {error}") from error

    def in_collections(self, method: str, name: str, parts: list[str], body: Any) -> Any:
        match (method, parts):
            case ("PUT", []):
                return self.create(name, body)
            case ("DELETE", []):
                return self.collections.pop(name, None) is not None
            case ("GET", []):
                return self.found(name).info()
            case ("PUT", ["points"]):
                return self.found(name).upsert(body)
            case ("POST", ["points", "query"]):
                return self.found(name).query(body)
        raise Refused(404)

    def found(self, name: str) -> Collection:
        if name not in self.collections:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    def create(self, name: str, body: Any) -> bool:
        asked = self.wire.CreateCollection.model_validate(body)
        if name in self.collections:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        self._made += 1
        self.collections[name] = Collection(self.engine, self.wire, self.folder / str(self._made), asked)
        return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Server
    key = ""

    def reply(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path).path
        if path in _OPEN:
            return self.send(200, b"healthz check passed", "text/plain")
        if self.key and (refused := self.refusal()):
            return self.send(401, refused.encode(), "text/plain")
        try:
            found, status = self.served.answer(self.command, path, data), 200
        except Refused as refused:
            if not str(refused):
                return self.send(refused.status, b"", "text/plain")
            return self.send_json(refused.status, {"status": {"error": str(refused)}, "time": 0.0})
        result = found if isinstance(found, bool) else found.model_dump(mode="json", exclude_none=True)
        return self.send_json(status, {"result": result, "status": "ok", "time": 0.0})

    def refusal(self) -> str:
        """Why not, where there is a key; it comes in either of two headers."""
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        given = self.headers.get("api-key") or bearer
        if not given:
            return "Must provide an API key or an Authorization bearer token"
        return "" if given == self.key else "Invalid API key or JWT"

    def send_json(self, status: int, said: dict[str, Any]) -> None:
        self.send(status, json.dumps(said).encode(), "application/json")

    def send(self, status: int, data: bytes, kind: str) -> None:
        """Compressed for everybody who understands that."""
        packed = "gzip" in self.headers.get("Accept-Encoding", "")
        sent = gzip.compress(data) if packed else data
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_PUT = do_POST = do_DELETE = reply

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def serve(port: int, folder: Path, packages: Path) -> None:
    Handler.served, Handler.key = Server(folder, packages), os.environ.get(KEY, "")
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
