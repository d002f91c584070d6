"""Protection against slow and broken clients: they hold no others up, and truncated requests are rejected."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from threading import Event
from typing import Any, Final

from channels.db import database_sync_to_async

from cockpit.http.errors import CONTENT_TYPE, ErrorDescription, in_json
from cockpit.http.transfer.asgi import Message, Receive, Scope, Send
from cockpit.http.transfer.slots import Slots, Turn
from traces.http.hang_ups import HANG_UP

# Timeout of reading or sending one piece, in seconds.
PATIENCE_S: Final = 30.0
# Bytes of a body that are read before a thread starts to handle the request.
_AHEAD: Final = 1024 * 1024
# Minimum rate of a body in bytes per second, after an initial period of patience.
_SLOWEST: Final = 4 * 1024
_TOO_SLOW: Final = ErrorDescription("validation_error", 408, "The request body did not arrive in time.", retryable=True)
_QUEUE_TIME: Final = b"x-forkpoint-queue-time"
_PROBES: Final = frozenset({"/api/v1/health", "/api/v1/ready"})
_WITH_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})
# Requests that change nothing: no one misses them once their client has left the queue.
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# As nginx and the metrics count such requests. The response ends the connection, whatever is still unread of it.
_CLIENT_LEFT: Final = 499
# In the scope of a request that its client sent before the response to the one before it was complete.
PIPELINE: Final = "forkpoint.pipeline"
# In the scope: a function that returns whether the client has left by now, even if the event loop does not know it yet.
HAS_LEFT: Final = "forkpoint.has_left"
# Refusal of a request by its headers alone: status, headers and body.
Refusal = tuple[int, list[tuple[bytes, bytes]], bytes]


class SlowClientGuard:
    """Waits for clients in place of the application, and drops those that stop in the middle.

    `refusal` returns the refusal of a request by its headers, before its body is read. The application runs as many
    requests at once as there are slots.
    """

    def __init__(self, application: Any, refusal: Callable[[Scope], Refusal | None], slots: Slots) -> None:
        self._application = application
        self._slots = slots
        self._refusal = database_sync_to_async(refusal, thread_sensitive=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = without_ambiguous_headers(scope)
        has_body = any(name in _WITH_BODY and value != b"0" for name, value in scope["headers"])
        if has_body and (refusal := await self._refusal(scope)) is not None:
            await _refuse(send, *refusal)
            return
        body = _Body(receive)
        try:
            await body.read_ahead()
        except TimeoutError:
            await _refuse(send, _TOO_SLOW.status, [(b"content-type", CONTENT_TYPE.encode())], in_json(_TOO_SLOW))
        except ConnectionResetError:
            return
        else:
            await self._run(with_queue_time(scope), body, send)

    async def _run(self, scope: Scope, body: "_Body", send: Send) -> None:
        address, _ = scope.get("client") or ("", 0)
        hang_up = Event()
        scope = {**scope, HANG_UP: hang_up}
        kind = {"is_pipelined": scope.get(PIPELINE, False), "is_probe": scope.get("path") in _PROBES}
        async with _in_background(body.watch(hang_up)), Turn(self._slots, address, **kind) as turn:
            # A client that has left cannot know whether its request ran: those who wait for theirs come first.
            if _has_left(scope, hang_up) and (scope["method"] in SAFE_METHODS or turn.delays_others):
                await _refuse(send, _CLIENT_LEFT, [], b"")
                return

            async def receive() -> Message:
                return await body.next_piece(turn)

            await self._application(scope, receive, _unless_stalled(send, body, turn))


def _has_left(scope: Scope, hang_up: Event) -> bool:
    return hang_up.is_set() or scope.get(HAS_LEFT, hang_up.is_set)()


def without_ambiguous_headers(scope: Scope) -> Scope:
    """Drop headers with an underscore in their name, which WSGI does not distinguish from a hyphen.

    A proxy that removes or replaces `X-Api-Key` passes `X_Api_Key` on.
    """
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if b"_" not in name]}


def with_queue_time(scope: Scope) -> Scope:
    """Add the time from which a request waits for a thread; it replaces a header of the client with this name."""
    headers = [(name, value) for name, value in scope["headers"] if name != _QUEUE_TIME]
    return {**scope, "headers": [*headers, (_QUEUE_TIME, str(time.monotonic()).encode())]}


def queue_s(environ: Mapping[str, Any]) -> float:
    """Return the seconds that a request has waited for the thread that handles it."""
    queue_time = environ.get("HTTP_X_FORKPOINT_QUEUE_TIME")
    return time.monotonic() - float(queue_time) if queue_time else 0.0


def patience_s(size: int, start: float) -> float:
    """Return the seconds to wait for the next piece of a body, of which `size` bytes arrived since `start`."""
    patience = PATIENCE_S + size / _SLOWEST - (time.monotonic() - start)
    return max(0.0, min(PATIENCE_S, patience))


async def _refuse(send: Send, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
    # Without closing the connection, the rest of the body would have to be read before the next request.
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": content})


class _Body:
    """The body of one request, with a minimum rate."""

    def __init__(self, receive: Receive) -> None:
        self._completion = asyncio.Event()
        self._receive = receive
        self._ahead: deque[Message] = deque()
        self._size = 0
        self._start_time = time.monotonic()

    @property
    def is_complete(self) -> bool:
        return self._completion.is_set()

    async def watch(self, hang_up: Event) -> None:
        """Set `hang_up` once the client disconnects after its request."""
        await self._completion.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        hang_up.set()

    async def read_ahead(self) -> None:
        """Read the whole body, or the first part of a long one."""
        while not self.is_complete and self._size < _AHEAD:
            async with asyncio.timeout(self._patience_s()):
                self._ahead.append(await self._next())

    async def next_piece(self, turn: Turn) -> Message:
        """Return the next piece; raises `OSError`, which Django expects from a connection, after a timeout."""
        if self._ahead:
            return self._ahead.popleft()
        async with turn.patience(self._patience_s()):
            return await self._next()

    def _patience_s(self) -> float:
        return patience_s(self._size, self._start_time)

    async def _next(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the client disconnected before the end of the body")
        self._size += len(message.get("body", b""))
        if not message.get("more_body"):
            self._completion.set()
        return message


@asynccontextmanager
async def _in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


def _unless_stalled(send: Send, body: _Body, turn: Turn) -> Send:
    """Wrap `send`: once the client stops reading, further data is dropped and the server closes the connection."""
    is_stalled = False

    async def forward(message: Message) -> None:
        nonlocal is_stalled
        if is_stalled:
            return
        if message["type"] == "http.response.start" and not body.is_complete:
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        try:
            async with turn.patience(PATIENCE_S):
                await send(message)
        except TimeoutError:
            is_stalled = True

    return forward
