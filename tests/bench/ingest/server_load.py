"""Load on an embedded server over HTTP: acknowledgements, visibility and memory.

Clients send OTLP requests as exporters do. Times are those of the clock: other work on the machine counts.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import httpx2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bench.ingest.workloads import requests, workload
from tests.services.processes import scratch_folder
from tests.services.server import Server

_CLIENTS: Final = 4
_RUNS: Final = 600
_LONG_RUNS: Final = 4
# Processor time in a second below which a server is idle.
_IDLE_S: Final = 0.15
_PAGE: Final = 200
_LIMIT_S: Final = 120.0
_RETRY: Final = (429, 503)


@dataclass(frozen=True, kw_only=True, slots=True)
class Acknowledgement:
    """The answer to one request."""

    status: int
    retry_after: str
    seconds: float

    @property
    def is_proper(self) -> bool:
        """Whether a client loses nothing: stored, or asked to send again in a second or two."""
        return self.status == 200 or (self.status in _RETRY and self.retry_after in ("1", "2"))


@dataclass(kw_only=True, slots=True)
class LoadFigures:
    """What clients measured; times in milliseconds, memory in MB."""

    p99_ms: float
    visible_p95_ms: float


@cache
def measure_small() -> LoadFigures:
    """Send small runs with four clients, and then at half of their rate."""
    bodies = list(requests(workload("small", _RUNS)))
    with running_server() as server:
        start = time.monotonic()
        answers = send(server, bodies, _CLIENTS)
        rate = len(answers) / (time.monotonic() - start)
        wait_until_idle(server)
        delays = _visibility(server, [with_new_ids(body, 255) for body in bodies], rate / 2)
    return LoadFigures(
        p99_ms=_percentile([answer.seconds for answer in answers], 0.99), visible_p95_ms=_percentile(delays, 0.95)
    )


@cache
def memory_of_long_runs_mb() -> float:
    """Return the most memory of the server, in MB, while long runs arrive and are stored."""
    with running_server() as server:
        send(server, requests(workload("long", _LONG_RUNS)), 1)
        wait_until_idle(server)
        status = Path(f"/proc/{server.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


@contextmanager
def running_server() -> Iterator[Server]:
    server = Server(scratch_folder("fp-load-") / "home", "--no-demo")
    server.start()
    try:
        yield server
    finally:
        server.stop()


def send(server: Server, bodies: Sequence[bytes] | Iterator[bytes], clients: int) -> list[Acknowledgement]:
    """Send each body once, with so many clients at a time."""
    local = threading.local()

    def post(body: bytes) -> Acknowledgement:
        if not hasattr(local, "client"):
            local.client = httpx2.Client(timeout=_LIMIT_S)
        return _post(local.client, server, body)

    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(post, bodies))


def _post(client: httpx2.Client, server: Server, body: bytes) -> Acknowledgement:
    start = time.monotonic()
    response = client.post(f"{server.url}/v1/traces", content=body, headers={"Content-Type": "application/x-protobuf"})
    return Acknowledgement(
        status=response.status_code,
        retry_after=response.headers.get("Retry-After", ""),
        seconds=time.monotonic() - start,
    )


def with_new_ids(body: bytes, mask: int) -> bytes:
    """Return a request whose traces have other ids, because what arrives for a stored trace would be late."""
    request = ExportTraceServiceRequest.FromString(body)
    for span in _spans(request):
        span.trace_id = bytes([span.trace_id[0] ^ mask]) + span.trace_id[1:]
    return request.SerializeToString()


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for group in request.resource_spans:
        for scope in group.scope_spans:
            yield from scope.spans


def _visibility(server: Server, bodies: Sequence[bytes], rate: float) -> list[float]:
    """Return for each run the seconds from its acknowledgement until the list shows it, at this rate of requests."""
    acknowledgements: dict[str, float] = {}
    appearances: dict[str, float] = {}
    stop_event = threading.Event()

    def watch() -> None:
        with httpx2.Client(timeout=_LIMIT_S) as client:
            while not stop_event.wait(0.05):
                page = client.get(f"{server.url}/api/v1/runs", params={"limit": _PAGE}).json()
                for run in page["runs"]:
                    appearances.setdefault(run["external_id"], time.monotonic())

    watcher = threading.Thread(target=watch)
    watcher.start()
    with httpx2.Client(timeout=_LIMIT_S) as client:
        for body in bodies:
            start = time.monotonic()
            _post(client, server, body)
            for span in _spans(ExportTraceServiceRequest.FromString(body)):
                acknowledgements.setdefault(span.trace_id.hex(), time.monotonic())
            time.sleep(max(0.0, 1 / rate - (time.monotonic() - start)))
    deadline = time.monotonic() + _LIMIT_S
    while not acknowledgements.keys() <= appearances.keys() and time.monotonic() < deadline:
        time.sleep(0.1)
    stop_event.set()
    watcher.join()
    return [appearances.get(trace, deadline) - moment for trace, moment in acknowledgements.items()]


def wait_until_idle(server: Server) -> None:
    """Wait until all runs that arrived are sealed: the server then uses hardly any processor time."""
    deadline = time.monotonic() + _LIMIT_S
    before = -1.0
    while (now := _cpu_seconds(server)) - before > _IDLE_S and time.monotonic() < deadline:
        before = now
        time.sleep(1)


def _cpu_seconds(server: Server) -> float:
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _percentile(seconds: Sequence[float], share: float) -> float:
    """Return a percentile in milliseconds."""
    return 1000 * sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]
