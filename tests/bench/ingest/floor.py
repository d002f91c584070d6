"""Floor of the design: decode every attribute, and write each span with one plain INSERT, without an ORM."""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def floor(bodies: Iterable[bytes], path: Path) -> float:
    """Return the CPU seconds of the floor; one transaction per request."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(
        "CREATE TABLE span (trace TEXT, id TEXT, parent TEXT, name TEXT, start INT, end INT, attributes TEXT)"
    )
    seconds = 0.0
    for body in bodies:
        start = time.process_time()
        connection.execute("BEGIN")
        for row in _rows(body):
            connection.execute("INSERT INTO span VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.execute("COMMIT")
        seconds += time.process_time() - start
    connection.close()
    return seconds


def _rows(body: bytes) -> Iterator[tuple[Any, ...]]:
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in group.scope_spans:
            for span in scope.spans:
                attributes = {pair.key: _value(pair.value) for pair in span.attributes}
                yield (
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.name,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    orjson.dumps(attributes).decode(),
                )


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
