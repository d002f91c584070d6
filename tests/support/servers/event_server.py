"""Server on loopback that stores the canonical events it receives, and refuses as a test requires."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import zstandard


@dataclass
class EventServer:
    """The events received, and the answers to the next requests: `(status, headers)`, then 200 for all others."""

    url: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    default: tuple[int, dict[str, str]] = (200, {})
    rejected_types: frozenset[str] = frozenset()

    def accept(self, body: bytes) -> dict[str, Any]:
        events = [json.loads(line) for line in body.splitlines()]
        rejected = [
            {"line": number, "reason": "a test rejects it"}
            for number, event in enumerate(events, 1)
            if event["event_type"] in self.rejected_types
        ]
        self.events += events
        return {"accepted": len(events) - len(rejected), "rejected": rejected}

    def names(self) -> list[str]:
        return [event["event_type"] for event in sorted(self.events, key=lambda event: event["sequence_no"])]


@contextmanager
def event_server() -> Iterator[EventServer]:
    state = EventServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            encoding = self.headers["content-encoding"]
            body = zstandard.decompress(body) if encoding == "zstd" else gzip.decompress(body)
            state.tokens.append(self.headers.get("authorization", ""))
            status, headers = state.answers.pop(0) if state.answers else state.default
            if self.path != "/api/v1/events":
                status = 404
            answer = json.dumps(state.accept(body) if status == 200 else {"detail": "no"}).encode()
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(answer))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield state
        server.shutdown()
