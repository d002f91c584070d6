"""Load of users, agents and malformed clients on a server; each activity runs in its own thread."""

import contextlib
import itertools
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from cockpit.serving.incomplete_requests import HEADER_S

HALF_HEADERS: Final = 1400
_HALF: Final = b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Half: "
_BURST_EVERY_S: Final = 60.0
_FOLLOW_S: Final = 2 * HEADER_S
# Number of recent runs that are read, forked and compared.
_RECENT: Final = 50
_INVALID_REQUESTS: Final = (
    ("POST", "/replays", b"[]"),
    ("POST", "/replays/preview", b'{"run": '),
    ("GET", "/runs/no-such-run", b""),
    ("POST", "/diffs", b'{"base": 1}'),
    ("DELETE", "/runs", b""),
)
_FINAL_STATUSES: Final = ("completed", "failed", "cancelled")


class Load:
    """Activities against one server, with counts of completed actions and problems."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.completed_actions: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self._stop_event = threading.Event()
        self._lock = threading.Lock()
        self._latencies: list[float] = []
        self._runs: list[str] = []
        self._numbers = itertools.count(1)
        actions = (self.import_run, self.read, self.read, self.fork, self.compare, self.preview, self.refuse)
        self._threads = [threading.Thread(target=self._repeat, args=(action,)) for action in actions]
        self._threads += [threading.Thread(target=self._listen), threading.Thread(target=self._burst)]

    def start(self) -> None:
        with self._client() as client:
            self.import_run(client)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop_event.set()
        for thread in self._threads:
            thread.join()

    def take_latencies(self) -> tuple[float, ...]:
        """Return and clear the milliseconds of each request since the last call."""
        with self._lock:
            latencies, self._latencies = tuple(self._latencies), []
        return latencies

    def import_run(self, client: httpx2.Client) -> None:
        number = next(self._numbers)
        report = self._ask(client, "POST", f"/runs/import?filename=run-{number}.json", content=_transcript(number))
        self._runs = [*self._runs[-_RECENT:], *(run["id"] for run in report["runs"])]

    def read(self, client: httpx2.Client) -> None:
        run = self._recent(0)
        for path in ("/runs?limit=50", f"/runs/{run}", f"/runs/{run}/steps", "/replays", "/ready"):
            self._ask(client, "GET", path)

    def fork(self, client: httpx2.Client) -> None:
        session = self._ask(client, "POST", "/replays", json=_fork(self._recent(1)))
        while not session["status"].startswith(_FINAL_STATUSES) and not self._stop_event.wait(0.1):
            session = self._ask(client, "GET", f"/replays/{session['id']}")
        if session["status"].startswith("failed"):
            raise RuntimeError(f"a fork failed: {session['error']}")

    def compare(self, client: httpx2.Client) -> None:
        self._ask(client, "POST", "/diffs", json={"base": self._recent(0), "candidate": self._recent(2)})

    def preview(self, client: httpx2.Client) -> None:
        self._ask(client, "POST", "/replays/preview", json=_fork(self._recent(0)))
        # The rate at which the form sends previews while a user types.
        self._stop_event.wait(0.25)

    def refuse(self, client: httpx2.Client) -> None:
        """Send requests that must be rejected with a client error."""
        broken = self._ask(client, "POST", "/runs/import?filename=bad.json", content=b'{"messages": [')
        if broken["runs"] or not broken["skipped"]:
            raise RuntimeError("a truncated file was imported")
        for method, path, content in _INVALID_REQUESTS:
            headers = {"Content-Type": "application/json"}
            answer = client.request(method, f"{self.url}/api/v1{path}", content=content, headers=headers)
            if not 400 <= answer.status_code < 500:
                raise RuntimeError(f"{method} {path} got {answer.status_code} instead of a refusal")

    def _recent(self, back: int) -> str:
        runs = self._runs
        return runs[max(0, len(runs) - 1 - back)]

    def _ask(self, client: httpx2.Client, method: str, path: str, **options: Any) -> Any:
        start = time.perf_counter()
        answer = client.request(method, f"{self.url}/api/v1{path}", **options)
        with self._lock:
            self._latencies.append(1000 * (time.perf_counter() - start))
        if answer.is_error:
            raise RuntimeError(f"{method} {path.partition('?')[0]} got {answer.status_code}: {answer.text[:200]}")
        return answer.json()

    def _client(self) -> httpx2.Client:
        return httpx2.Client(timeout=60, trust_env=False)

    def _repeat(self, action: Callable[[httpx2.Client], None]) -> None:
        name = action.__name__
        while not self._stop_event.is_set():
            with self._client() as client:
                for _ in range(20):  # then a new connection
                    self._try(name, partial(action, client))
                    if self._stop_event.wait(0.05):
                        return

    def _listen(self) -> None:
        """Follow the list of runs over one socket after the other."""
        address = f"ws{self.url.removeprefix('http')}/ws/live?runs=1"
        while not self._stop_event.is_set():
            self._try("socket", lambda: _follow(address, self._stop_event))
            self._stop_event.wait(0.1)

    def _burst(self) -> None:
        while not self._stop_event.wait(5):
            self._try("burst of half headers", self._send_half_headers)
            self._stop_event.wait(_BURST_EVERY_S)

    def _send_half_headers(self) -> None:
        """Open many connections that never finish their headers; other clients must still be served."""
        host, port = urlsplit(self.url).hostname, urlsplit(self.url).port
        with contextlib.ExitStack() as connections:
            for _ in range(HALF_HEADERS):
                connection = connections.enter_context(socket.create_connection((host, port), timeout=10))
                with contextlib.suppress(ConnectionError):  # the server may have closed it by now
                    connection.sendall(_HALF)
            with self._client() as client:
                self._ask(client, "GET", "/health")

    def _try(self, name: str, action: Callable[[], None]) -> None:
        try:
            action()
        except (OSError, httpx2.HTTPError, RuntimeError, WebSocketException) as error:
            if not self._stop_event.is_set():
                self.problems[f"{name}: {error or type(error).__name__}"] += 1
        else:
            self.completed_actions[name] += 1


def _follow(address: str, stop_event: threading.Event) -> None:
    """Keep a live socket open for longer than the header timeout."""
    deadline = time.monotonic() + _FOLLOW_S
    with connect(address, proxy=None, open_timeout=60) as live:
        while time.monotonic() < deadline and not stop_event.is_set():
            with contextlib.suppress(TimeoutError):
                live.recv(timeout=1)


def _fork(run: str) -> dict[str, Any]:
    override = {"match": {"step": 1}, "output": "It was delivered yesterday."}
    return {"run": run, "fork_step": 1, "overrides": {"overrides": [override]}, "policy": {"fallback": "simulate"}}


def _transcript(number: int) -> bytes:
    """Return a unique conversation of twenty turns."""
    messages = []
    for turn in range(20):
        messages += [
            {"role": "user", "content": f"Where is order {number}-{turn}?"},
            {"role": "assistant", "content": f"Order {number}-{turn} is on its way, as parcel {turn}."},
        ]
    return json.dumps({"messages": messages}).encode()
