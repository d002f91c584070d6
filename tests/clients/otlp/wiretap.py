"""A proxy on loopback between a tracer and the server: it passes each request on and retains what was sent."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


@dataclass(frozen=True, kw_only=True)
class SentSpan:
    """A span as the tracer sent it, with its log records."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    message: str
    failed: bool


@dataclass
class Wiretap:
    """The address of the proxy, and the bodies that passed, by path."""

    url: str = ""
    bodies: list[tuple[str, bytes]] = field(default_factory=list)

    def spans(self) -> list[SentSpan]:
        """Return all spans in the order of their start."""
        logs = self._logs()
        records: list[tuple[int, SentSpan]] = []
        for path, body in self.bodies:
            if path.endswith("/traces"):
                request = ExportTraceServiceRequest.FromString(body)
                spans = [
                    span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans
                ]
                records += [(span.start_time_unix_nano, _sent_span(span, logs)) for span in spans]
        return [span for _, span in sorted(records, key=lambda record: record[0])]

    def _logs(self) -> dict[str, list[tuple[str, dict[str, Any]]]]:
        logs: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for path, body in self.bodies:
            if path.endswith("/logs"):
                request = ExportLogsServiceRequest.FromString(body)
                for record in [
                    item for group in request.resource_logs for scope in group.scope_logs for item in scope.log_records
                ]:
                    fields = {**_values(record.attributes), "body": _value(record.body)}
                    logs.setdefault(record.span_id.hex(), []).append((record.event_name, fields))
        return logs


def _sent_span(span: Any, logs: dict[str, list[tuple[str, dict[str, Any]]]]) -> SentSpan:
    return SentSpan(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=_values(span.attributes),
        events=[*((event.name, _values(event.attributes)) for event in span.events), *logs.get(span.span_id.hex(), [])],
        message=span.status.message,
        failed=span.status.code == 2,
    )


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _values(value.kvlist_value.values)
    return None if kind is None else getattr(value, kind)


@contextmanager
def wiretap(server_url: str) -> Iterator[Wiretap]:
    """Pass requests on to a server."""
    tap = Wiretap()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            is_packed = self.headers.get("content-encoding") == "gzip"
            tap.bodies.append((self.path, gzip.decompress(body) if is_packed else body))
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")
            }
            response = httpx2.post(server_url + self.path, content=body, headers=headers)
            self.send_response(response.status_code)
            self.send_header("content-type", response.headers.get("content-type", ""))
            self.send_header("content-length", str(len(response.content)))
            self.end_headers()
            self.wfile.write(response.content)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing: tests read `bodies`."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tap.url = f"http://127.0.0.1:{proxy.server_port}"
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield tap
    finally:
        proxy.shutdown()
        proxy.server_close()
