"""Slow and broken clients: they occupy none of the threads that answer, and half a request is never taken for one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from cockpit.errors import CONTENT_TYPE, Trouble, in_json

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_PATIENCE_S: Final = 30.0  # for the next piece of what is sent or read
_AHEAD: Final = 1024 * 1024  # bytes of a body that are waited for before a thread begins to answer
_TOO_SLOW: Final = Trouble("validation_error", 408, f"Nothing of the body came for {_PATIENCE_S:g} s.", retryable=True)


class Patient:
    """Waits for clients in place of the application, and gives up those that stop in the middle."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _begun(receive)
        except TimeoutError:
            await _refuse(send)
        except ConnectionResetError:
            return
        else:
            await self._application(scope, body, _unless_stalled(send))


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", CONTENT_TYPE.encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": _TOO_SLOW.status, "headers": headers})
    await send({"type": "http.response.body", "body": in_json(_TOO_SLOW)})


async def _begun(receive: Receive) -> Receive:
    """The body, of which all is there already, or more than there is patience for."""
    ahead = deque([await _piece(receive)])
    size = len(ahead[0].get("body", b""))
    while ahead[-1].get("more_body") and size < _AHEAD:
        ahead.append(await _piece(receive))
        size += len(ahead[-1].get("body", b""))

    async def next_piece() -> Message:
        return ahead.popleft() if ahead else await _piece(receive)

    return next_piece


async def _piece(receive: Receive) -> Message:
    """The next piece of a body; raises `OSError`, which Django expects of a connection, where none comes."""
    async with asyncio.timeout(_PATIENCE_S):
        message = await receive()
    if message["type"] == "http.disconnect":
        raise ConnectionResetError("the client went away before it had sent everything")
    return message


def _unless_stalled(send: Send) -> Send:
    """Sends until the client reads no more; what comes then is dropped, and the server closes the connection."""
    stalled = False

    async def sent(message: Message) -> None:
        nonlocal stalled
        if stalled:
            return
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await send(message)
        except TimeoutError:
            stalled = True

    return sent
