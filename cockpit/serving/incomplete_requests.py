"""Connections whose clients do not send or do not read: they are closed after a deadline and cannot exhaust the server.

A connection waits for a header from its start until the header is complete, and again for each further request. Each
wait has a deadline. If too many connections wait, the oldest are closed, so a client that sends its header at once is
always served. A client that reads nothing of its response is closed too, because its connection would stay otherwise
until the client closes it. A read whose client has left by the time that it arrives is not even parsed.
"""

import asyncio
import resource
import select
from typing import Any, Final, cast

import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from cockpit.http.transfer.asgi import Scope
from cockpit.http.transfer.slow_clients import HAS_LEFT, PIPELINE, SAFE_METHODS
from cockpit.http.transfer.waiting import Waiting
from cockpit.serving.request_pieces import PIECES, InterruptibleFlow, MeteredConnection, Turns

log = structlog.get_logger("cockpit.serving.incomplete_requests")

HEADER_S: Final = 10.0
# Longer than the guard of slow clients waits, so that a request ends before its connection does.
READ_S: Final = 35.0
# Bytes of a header, and of the size of a chunk with its extensions.
_HEADER_SIZE: Final = 64 * 1024
WAITING_LIMIT: Final = 512  # connections of all addresses together
WAITING_LIMIT_PER_ADDRESS: Final = 128
# Descriptors reserved for other uses: the database, artifacts, model providers, logs.
_RESERVE: Final = 256
_WANTED_DESCRIPTORS: Final = 65_536
# What a poll reports once the client has sent its last byte, where the system can tell.
_LEFT: Final[int] = getattr(select, "POLLRDHUP", 0)
_READS: Final = tuple(f"{method} ".encode() for method in SAFE_METHODS)
# Headers that state where a body ends.
_FRAMINGS: Final = frozenset({b"content-length", b"transfer-encoding"})


def raise_descriptor_limit() -> int:
    """Raise the limit of open files as far as permitted; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    has_no_limit = hard == resource.RLIM_INFINITY
    target = _WANTED_DESCRIPTORS if has_no_limit else min(hard, _WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        soft = target
    return _WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class GuardedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 protocol with deadlines for clients and a limit of open connections."""

    waiting: "Waiting[GuardedProtocol]" = Waiting(total=WAITING_LIMIT, per_address=WAITING_LIMIT_PER_ADDRESS)
    header_s = HEADER_S
    read_s = READ_S
    most_open = 4096
    turns = Turns()

    address = ""
    conn: MeteredConnection
    flow: InterruptibleFlow
    _deadline: asyncio.TimerHandle | None = None
    _reader_deadline: asyncio.TimerHandle | None = None
    _is_websocket = False  # read by another protocol
    _is_pipelined = False  # what is read was sent before the last response was complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.conn = MeteredConnection(_HEADER_SIZE)
        self.flow = InterruptibleFlow(transport)
        self.address = self.client[0] if self.client else ""
        if len(self.connections) > self.most_open and not self._make_room():
            log.warning("connection_refused", reason="too many are open", open=len(self.connections))
            transport.abort()
            return
        self._await_header()

    def data_received(self, data: bytes) -> None:
        if data.startswith(_READS) and not self._has_request() and self._has_left():
            # Parsing would be most of what the connection costs, and a server under a flood needs that time for others.
            self.transport.abort()
            return
        super().data_received(data)
        self._note_progress()

    def take_turn(self) -> None:
        """Parse more of a body in many pieces, and read on if that was all."""
        self.flow.is_interrupted = False
        if self.transport.is_closing():
            return
        self.handle_events()
        self.flow.resume_reading()
        self._note_progress()

    def _note_progress(self) -> None:
        if self._has_request():
            self._stop_waiting()
        elif self._deadline is None and not self._is_websocket and not self.transport.is_closing():
            # The next request of a keep-alive connection has started.
            self._await_header()

    def on_response_complete(self) -> None:
        self._is_pipelined = True
        super().on_response_complete()
        self._is_pipelined = False

    def handle_events(self) -> None:
        if self.flow.is_interrupted:
            return
        last = self.cycle
        self.conn.pieces_left = PIECES
        super().handle_events()
        if not self.conn.pieces_left:
            self.flow.interrupt()
            self.turns.add(self)
        if self.cycle is not last:
            scope = cast(Scope, self.cycle.scope)
            scope |= {PIPELINE: self._is_pipelined, HAS_LEFT: self._has_left}
        # What follows such a request may be a part of it to a proxy (RFC 9112, section 6.1).
        if self.cycle is not None and _FRAMINGS.issubset(name for name, _ in self.cycle.scope["headers"]):
            self.cycle.keep_alive = False

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_deadline = self.loop.call_later(self.read_s, self.give_up, "its client does not read")

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_reader_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_reader_deadline()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_waiting()
        self._is_websocket = True
        super().handle_websocket_upgrade(event)

    def give_up(self, reason: str) -> None:
        """Close a connection that waits for its client."""
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

    def _has_left(self) -> bool:
        if self.transport.is_closing():
            return True
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket"), _LEFT)
        return bool(poll.poll(0))

    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_header(self) -> None:
        self._deadline = self.loop.call_later(self.header_s, self.give_up, "header timeout")
        self.waiting.add(self)

    def _stop_reader_deadline(self) -> None:
        if self._reader_deadline is not None:
            self._reader_deadline.cancel()
            self._reader_deadline = None

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            self.waiting.remove(self)


def guarded_protocol() -> type[GuardedProtocol]:
    """Return a protocol class for one server, limited by the descriptors of this process."""
    most_open = max(16, raise_descriptor_limit() - _RESERVE)
    waiting_limit = min(WAITING_LIMIT, most_open // 2)
    waiting: Waiting[GuardedProtocol] = Waiting(total=waiting_limit, per_address=WAITING_LIMIT_PER_ADDRESS)
    limits = {"most_open": most_open, "waiting": waiting, "turns": Turns()}
    return type("GuardedProtocol", (GuardedProtocol,), limits)
