"""A client of the socket that reconnects and resumes after every lost connection."""

import contextlib
import json
import threading
import time
from typing import Any

import httpx2
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect


class Follower:
    """Reads one session's messages until the end; with `drops` it disconnects every few messages."""

    def __init__(self, http: httpx2.Client, session: str, *, drops: int = 0) -> None:
        self.messages: list[dict[str, Any]] = []
        self.connections = 0
        self.session = session
        self._http, self._drops = http, drops
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self, seconds: float = 20) -> list[dict[str, Any]]:
        """Wait for the end of the session and return all messages."""
        self._thread.join(seconds)
        self._stop.set()
        return self.messages

    def _run(self) -> None:
        while not self._stop.is_set() and not self._has_ended():
            with contextlib.suppress(OSError, WebSocketException, TimeoutError):
                self._read()
            time.sleep(0.1)

    def _read(self) -> None:
        after = self.messages[-1]["seq"] if self.messages else 0
        url = str(self._http.base_url).replace("http", "ws", 1).rstrip("/")
        address = f"{url}/ws/live?replay={self.session}&after={after}"
        headers = {"Authorization": self._http.headers["authorization"]}
        # It hangs up: a goodbye would come after all that it has not read, and the client stops reading at 16 messages.
        with connect(address, additional_headers=headers, open_timeout=5, close_timeout=0.1) as socket:
            self.connections += 1
            count = 0
            while not self._has_ended() and not (self._drops and count >= self._drops):
                self.messages.append(json.loads(socket.recv(timeout=15)))
                count += 1

    def _has_ended(self) -> bool:
        return any(message["type"] == "session" and message["session"]["ended_at"] for message in self.messages[-1:])
