"""Connections with incomplete requests: they are closed after a deadline and cannot exhaust the server.

A connection waits for a header from its start until the header is complete, and again for each further request. Each
wait has a deadline. If too many connections wait, the oldest are closed, so a client that sends its header at once is
always served.
"""

import asyncio
import resource
from typing import Any, Final

import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

log = structlog.get_logger("cockpit.serving.incomplete_requests")

HEADER_S: Final = 10.0
WAITING_LIMIT: Final = 512  # connections of all addresses together
WAITING_LIMIT_PER_ADDRESS: Final = 128
# Descriptors reserved for other uses: the database, artifacts, model providers, logs.
_RESERVE: Final = 256
_WANTED_DESCRIPTORS: Final = 65_536


def raise_descriptor_limit() -> int:
    """Raise the limit of open files as far as permitted; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    has_no_limit = hard == resource.RLIM_INFINITY
    target = _WANTED_DESCRIPTORS if has_no_limit else min(hard, _WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        soft = target
    return _WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class Waiting:
    """The connections of one server that wait for a header, oldest first."""

    def __init__(self, *, total: int = WAITING_LIMIT, per_address: int = WAITING_LIMIT_PER_ADDRESS) -> None:
        self.total = total
        self.per_address = per_address
        self._connections: dict[GuardedProtocol, None] = {}
        self._by_address: dict[str, dict[GuardedProtocol, None]] = {}

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: "GuardedProtocol") -> None:
        """Register a connection; close the oldest one if there are too many."""
        siblings = self._by_address.setdefault(connection.address, {})
        self._connections[connection] = siblings[connection] = None
        if len(siblings) > self.per_address:
            next(iter(siblings)).give_up("too many connections of its address wait")
        elif len(self._connections) > self.total:
            next(iter(self._connections)).give_up("too many connections wait")

    def remove(self, connection: "GuardedProtocol") -> None:
        self._connections.pop(connection, None)
        siblings = self._by_address.get(connection.address, {})
        siblings.pop(connection, None)
        if not siblings:
            self._by_address.pop(connection.address, None)


class GuardedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 protocol with a deadline for each header and a limit of open connections."""

    waiting = Waiting()
    header_s = HEADER_S
    most_open = 4096

    address = ""
    _deadline: asyncio.TimerHandle | None = None
    _is_websocket = False  # read by another protocol

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if len(self.connections) > self.most_open and not self._make_room():
            log.warning("connection_refused", reason="too many are open", open=len(self.connections))
            transport.abort()
            return
        self._await_header()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._has_request():
            self._stop_waiting()
        elif self._deadline is None and not self._is_websocket and not self.transport.is_closing():
            # The next request of a keep-alive connection has started.
            self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_waiting()
        self._is_websocket = True
        super().handle_websocket_upgrade(event)

    def give_up(self, reason: str) -> None:
        """Close a connection that waits for its header."""
        log.info("connection_closed", reason=reason, address=self.address)
        self._stop_waiting()
        self.transport.abort()

    def _make_room(self) -> bool:
        """Close an idle connection; return False if there is none."""
        candidates = (
            connection
            for connection in self.connections
            if isinstance(connection, GuardedProtocol) and connection is not self
        )
        idle = next((connection for connection in candidates if not connection._has_request()), None)
        if idle is not None:
            idle.give_up("too many connections are open")
        return idle is not None

    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_header(self) -> None:
        self._deadline = self.loop.call_later(self.header_s, self.give_up, "header timeout")
        self.waiting.add(self)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            self.waiting.remove(self)


def guarded_protocol() -> type[GuardedProtocol]:
    """Return a protocol class for one server, limited by the descriptors of this process."""
    most_open = max(16, raise_descriptor_limit() - _RESERVE)
    limits = {"most_open": most_open, "waiting": Waiting(total=min(WAITING_LIMIT, most_open // 2))}
    return type("GuardedProtocol", (GuardedProtocol,), limits)
