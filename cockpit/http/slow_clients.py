"""Slow and broken clients: they occupy none of the threads that answer, and half a request is never taken for one."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from channels.db import database_sync_to_async

from cockpit.http.errors import CONTENT_TYPE, Trouble, in_json

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_PATIENCE_S: Final = 30.0  # for the next piece of what is sent or read
_AHEAD: Final = 1024 * 1024  # bytes of a body that are waited for before a thread begins to answer
_SLOWEST: Final = 4 * 1024  # bytes a second that a body has to come at, once its first pieces were waited for
_TOO_SLOW: Final = Trouble("validation_error", 408, "The body of the request did not come in time.", retryable=True)
_WITH_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})
# What a request is refused with by its headers alone: status, headers and body.
Refusal = tuple[int, list[tuple[bytes, bytes]], bytes]


class SlowClientGuard:
    """Waits for clients in place of the application, and gives up those that stop in the middle.

    `refusal` tells what a request is refused with by its headers, before anything of its body is read.
    """

    def __init__(self, application: Any, refusal: Callable[[Scope], Refusal | None]) -> None:
        self._application = application
        self._refusal = database_sync_to_async(refusal, thread_sensitive=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_body = any(name in _WITH_BODY and value != b"0" for name, value in scope["headers"])
        if has_body and (refused := await self._refusal(scope)) is not None:
            await _refuse(send, *refused)
            return
        body = _Body(receive)
        try:
            await body.read_ahead()
        except TimeoutError:
            await _refuse(send, _TOO_SLOW.status, [(b"content-type", CONTENT_TYPE.encode())], in_json(_TOO_SLOW))
        except ConnectionResetError:
            return
        else:
            await self._application(scope, body.next_piece, _unless_stalled(send, body))


async def _refuse(send: Send, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
    # Closed, because what is left of the body would have to be read before the next request.
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": content})


class _Body:
    """The body of one request, which has to keep coming."""

    def __init__(self, receive: Receive) -> None:
        self.is_complete = False
        self._receive = receive
        self._ahead: deque[Message] = deque()
        self._size = 0
        self._started = time.monotonic()

    async def read_ahead(self) -> None:
        """Wait for all of it, or for more than there is patience for."""
        while not self.is_complete and self._size < _AHEAD:
            self._ahead.append(await self._next())

    async def next_piece(self) -> Message:
        return self._ahead.popleft() if self._ahead else await self._next()

    async def _next(self) -> Message:
        """The next piece; raises `OSError`, which Django expects of a connection, where none comes in time."""
        patience = _PATIENCE_S + self._size / _SLOWEST - (time.monotonic() - self._started)
        async with asyncio.timeout(max(0.0, min(_PATIENCE_S, patience))):
            message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the client went away before it had sent everything")
        self._size += len(message.get("body", b""))
        self.is_complete = not message.get("more_body")
        return message


def _unless_stalled(send: Send, body: _Body) -> Send:
    """Sends until the client reads no more; what comes then is dropped, and the server closes the connection."""
    stalled = False

    async def sent(message: Message) -> None:
        nonlocal stalled
        if stalled:
            return
        if message["type"] == "http.response.start" and not body.is_complete:
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await send(message)
        except TimeoutError:
            stalled = True

    return sent
