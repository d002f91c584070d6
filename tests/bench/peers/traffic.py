"""Requests of a workload, sent by four clients as exporters do: again later if the server asks for it."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.bench.ingest.workloads import Workload, requests

CLIENTS: Final = 4
# Generous, so that a slow server is measured rather than counted as failing: exporters give up after 10 s.
_TIMEOUT_S: Final = 300
_OK: Final = 200
_NO_RESPONSE: Final = 0
_ATTEMPTS: Final = 5  # of a request without a response
_RETRYABLE: Final = (429, 502, 503, 504)
_PROTOBUF: Final = {"Content-Type": "application/x-protobuf"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportRequest:
    """A request on disk; 641 MB are not kept in memory."""

    path: Path
    spans: int
    size: int


@dataclass
class Traffic:
    """What the clients measured: acknowledged and lost spans, and the time until each acknowledgement, with retries."""

    acknowledged: int = 0
    lost: int = 0
    postponed: int = 0
    latencies_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def write_requests(load: Workload, folder: Path) -> list[ExportRequest]:
    """Write the requests of a workload into a folder."""
    return list(_write(load, folder))


def bodies(batch: Sequence[ExportRequest]) -> Iterator[bytes]:
    for request in batch:
        yield request.path.read_bytes()


def send(url: str, headers: Mapping[str, str], batch: Sequence[ExportRequest]) -> Traffic:
    """Send all requests to `url`; return when each was acknowledged or lost."""
    queue: SimpleQueue[ExportRequest] = SimpleQueue()
    for request in batch:
        queue.put(request)
    traffic, lock = Traffic(), threading.Lock()
    clients = [_Client(url, {**_PROTOBUF, **headers}, queue, traffic, lock) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return traffic


def _write(load: Workload, folder: Path) -> Iterator[ExportRequest]:
    for number, body in enumerate(requests(load)):
        path = folder / f"{number}.bin"
        path.write_bytes(body)
        groups = ExportTraceServiceRequest.FromString(body).resource_spans
        spans = sum(len(scope.spans) for group in groups for scope in group.scope_spans)
        yield ExportRequest(path=path, spans=spans, size=len(body))


class _Client(threading.Thread):
    """One exporter with its own connection."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        queue: "SimpleQueue[ExportRequest]",
        traffic: Traffic,
        lock: threading.Lock,
    ) -> None:
        super().__init__(daemon=True)
        address = urlsplit(url)
        assert address.hostname
        self._connection = HTTPConnection(address.hostname, address.port or 80, timeout=_TIMEOUT_S)
        self._path, self._headers = address.path, headers
        self._queue, self._traffic, self._lock = queue, traffic, lock

    def run(self) -> None:
        while True:
            try:
                request = self._queue.get_nowait()
            except Empty:
                self._connection.close()
                return
            self._export(request)

    def _export(self, request: ExportRequest) -> None:
        """Send a request until it is acknowledged or refused for good."""
        body, start, failures = request.path.read_bytes(), time.perf_counter(), 0
        while True:
            status, wait_s, text = self._post(body)
            failures += status == _NO_RESPONSE
            is_retryable = status in _RETRYABLE or (status == _NO_RESPONSE and failures < _ATTEMPTS)
            with self._lock:
                if status == _OK:
                    self._traffic.acknowledged += request.spans
                    self._traffic.latencies_ms.append(1000 * (time.perf_counter() - start))
                    return
                if not is_retryable:
                    self._traffic.lost += request.spans
                    self._traffic.errors.append(f"{status}: {text}")
                    return
                self._traffic.postponed += 1
            time.sleep(wait_s)

    def _post(self, body: bytes) -> tuple[int, float, str]:
        """Return the status, the seconds to wait before another attempt, and the start of the response."""
        try:
            self._connection.request("POST", self._path, body, dict(self._headers))
            response = self._connection.getresponse()
            text = response.read()[:200].decode(errors="replace")
        except (OSError, HTTPException) as error:
            self._connection.close()
            return _NO_RESPONSE, 1.0, repr(error)
        return response.status, float(response.headers.get("Retry-After") or 1), text
