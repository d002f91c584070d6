"""Requests and responses of the gateway, without a framework."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from django.conf import settings

from cockpit.gateway.refusals import Refusal

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

JSON: Final[Headers] = [(b"content-type", b"application/json")]


async def read_body(receive: Receive) -> bytes:
    """Return the body of a request; raise `Refusal` if it is too large or does not arrive in full."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(status=400, reason="the request ended before its body did")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > settings.MAX_BODY_BYTES:
            raise Refusal(status=413, reason=f"the request is larger than {settings.MAX_BODY_BYTES} bytes")
        if not message.get("more_body"):
            return b"".join(pieces)


async def respond(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole response. The length that a provider stated is that of its own framing."""
    own_headers = [(name, value) for name, value in headers if name != b"content-length"]
    length = [(b"content-length", str(len(body)).encode())] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*own_headers, *length]})
    await send({"type": "http.response.body", "body": body})
