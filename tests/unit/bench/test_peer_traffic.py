"""Clients of the comparison send again when a server asks for it, and count what it refuses for good."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.bench.ingest.workloads import BATCH, Workload
from tests.bench.peers.traffic import send, write_requests


@contextmanager
def server(*statuses: int) -> Iterator[tuple[str, Counter[bytes]]]:
    """Serve each body's first attempt with the first status, its second with the second, and so on."""
    attempts: Counter[bytes] = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = statuses[min(attempts[body], len(statuses) - 1)]
            attempts[body] += 1
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/v1/traces", attempts
    finally:
        listener.shutdown()
        listener.server_close()


def test_postponed_requests_are_sent_again(tmp_path: Path) -> None:
    batch = write_requests(Workload(runs=40, turns=3), tmp_path)
    with server(503, 429, 200) as (url, attempts):
        traffic = send(url, {}, batch)
    assert [request.spans for request in batch] == [BATCH, BATCH, 40]
    assert (traffic.acknowledged, traffic.lost, traffic.postponed) == (240, 0, 2 * len(batch))
    assert set(attempts.values()) == {3}
    assert len(traffic.latencies_ms) == len(batch)


def test_refused_requests_are_lost(tmp_path: Path) -> None:
    batch = write_requests(Workload(runs=2, turns=3), tmp_path)
    with server(500) as (url, _):
        traffic = send(url, {}, batch)
    assert (traffic.acknowledged, traffic.lost) == (0, 12)
    assert traffic.errors == ["500: "]
