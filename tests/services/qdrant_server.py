"""Qdrant's REST interface over Qdrant's own engine, because no package brings its server.

The engine is the one that the server is built on (`qdrant-edge-py`); requests and answers are read and written
through the models that Qdrant generates from its interface (`qdrant-client`), so that a field that it does not
have is refused. A server of your own is tested with TEST_QDRANT_URL instead.

    python -m tests.services.qdrant_server PORT FOLDER PACKAGES
"""

import importlib.util
import json
import sys
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_BM25 = "qdrant/bm25"


def models(packages: Path) -> Any:
    """The generated models alone: the package around them wants numpy and gRPC."""
    for name, contents in (
        ("qdrant_client", {"__path__": []}),
        ("qdrant_client._numpy_vectors", {"NumpyVectorsToLists": None}),
    ):
        stand_in = types.ModuleType(name)
        vars(stand_in).update(contents)
        sys.modules[name] = stand_in
    path = packages / "qdrant_client" / "http" / "models" / "models.py"
    spec = importlib.util.spec_from_file_location("qdrant_models", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be read")
    module = importlib.util.module_from_spec(spec)
    sys.modules["qdrant_models"] = module
    spec.loader.exec_module(module)
    return module


class Refused(Exception):
    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class Collection:
    def __init__(self, engine: Any, wire: Any, folder: Path, asked: Any) -> None:
        self.engine, self.wire = engine, wire
        given = asked.vectors if isinstance(asked.vectors, dict) else {"": asked.vectors}
        self.distances = {name: str(one.distance.value) for name, one in given.items()}
        vectors = {
            name: engine.EdgeVectorParams(size=one.size, distance=getattr(engine.Distance, str(one.distance.value)))
            for name, one in given.items()
        }
        sparse = {
            name: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf) for name in asked.sparse_vectors or {}
        }
        folder.mkdir()
        self.shard = engine.EdgeShard.create(str(folder), engine.EdgeConfig(vectors=vectors, sparse_vectors=sparse))

    def info(self) -> dict[str, Any]:
        named = {name: {"size": 0, "distance": distance} for name, distance in self.distances.items()}
        return {"config": {"params": {"vectors": named.get("", named)}}}

    def upsert(self, body: Any) -> dict[str, Any]:
        asked = self.wire.PointsList.model_validate(body)
        points = [self.engine.Point(point.id, self.vector(point.vector), point.payload) for point in asked.points]
        self.shard.update(self.engine.UpdateOperation.upsert_points(points))
        return {"operation_id": 0, "status": "completed"}

    def vector(self, given: Any) -> Any:
        named = given if isinstance(given, dict) else {"": given}
        return {name: self.text(one, "embed_document") if hasattr(one, "text") else one for name, one in named.items()}

    def text(self, document: Any, how: str) -> Any:
        if document.model != _BM25:
            raise Refused(400, f"Bad request: InferenceService is not initialized, model {document.model}")
        return getattr(self.engine.Bm25(), how)(document.text)

    def query(self, body: Any) -> dict[str, Any]:
        asked = self.wire.QueryRequest.model_validate(body)
        using = asked.using or ""
        vector = self.text(asked.query, "embed_query") if hasattr(asked.query, "text") else asked.query
        request = self.engine.QueryRequest(
            limit=asked.limit,
            query=self.engine.Query.Nearest(vector, using=using),
            with_payload=bool(asked.with_payload),
            filter=None if asked.filter is None else self.filter(asked.filter),
        )
        try:
            found = self.shard.query(request)
        except Exception as error:  # noqa: BLE001  # as the server: what the engine refuses is the asker's mistake
            raise Refused(400, f"Wrong input: {error}") from error
        points = [
            self.wire.ScoredPoint(id=each.id, version=each.version, score=each.score, payload=each.payload)
            for each in found
        ]
        said: dict[str, Any] = self.wire.QueryResponse(points=points).model_dump(mode="json", exclude_none=True)
        return said

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

        self.engine, self.wire, self.folder = qdrant_edge, models(packages), folder
        self.collections: dict[str, Collection] = {}

    def answer(self, method: str, parts: list[str], body: Any) -> Any:
        if (method, parts) == ("GET", ["healthz"]):
            return True
        if parts[0] != "collections" or len(parts) < 2:
            raise Refused(404, "Not found")
        if (method, len(parts)) == ("PUT", 2):
            return self.create(parts[1], body)
        if parts[1] not in self.collections:
            raise Refused(404, f"Not found: Collection `{parts[1]}` doesn't exist!")
        return self.in_collection(self.collections[parts[1]], method, parts[2:], body)

    def create(self, name: str, body: Any) -> bool:
        asked = self.wire.CreateCollection.model_validate(body)
        folder = self.folder / str(len(self.collections))
        self.collections[name] = Collection(self.engine, self.wire, folder, asked)
        return True

    def in_collection(self, collection: Collection, method: str, parts: list[str], body: Any) -> Any:
        match (method, parts):
            case ("GET", []):
                return collection.info()
            case ("PUT", ["points"]):
                return collection.upsert(body)
            case ("POST", ["points", "query"]):
                return collection.query(body)
        raise Refused(404, "Not found")

    def reply(self, method: str, path: str, data: bytes) -> tuple[dict[str, Any], int]:
        try:
            parts = path.partition("?")[0].strip("/").split("/")
            return {"result": self.answer(method, parts, json.loads(data or b"null")), "status": "ok"}, 200
        except Refused as refused:
            return {"status": {"error": str(refused)}}, refused.status
        except ValueError as error:  # of the models: the interface has no such field
            return {"status": {"error": f"Format error in JSON body: {error}"}}, 400


def serve(port: int, folder: Path, packages: Path) -> None:
    server = Server(folder, packages)

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            said, status = server.reply(self.command, self.path, data)
            sent = json.dumps({**said, "time": 0.0}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PUT = do_POST = reply

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
