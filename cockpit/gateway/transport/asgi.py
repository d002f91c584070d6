"""Requests and responses of the gateway, without a framework."""

import asyncio
import itertools
import time
from typing import Final

from django.conf import settings

from cockpit.gateway.refusals import Refusal
from cockpit.http.transfer.asgi import Headers, Receive, Send
from cockpit.http.transfer.slow_clients import PATIENCE_S, patience_s

# Bytes of all bodies of a process that have not arrived in full.
_MOST_WAITING: Final = 256 * 1024 * 1024
# How many times as large as allowed a body may be for its client to be told.
_MOST_REFUSED: Final = 4
JSON: Final[Headers] = [(b"content-type", b"application/json")]


class Bodies:
    """Reads the bodies of requests, which stay in memory until they have arrived.

    Each arrives at a minimum rate, and all that have not arrived in full may have `total` bytes together. Those that
    have taken their time make room for others.
    """

    def __init__(self, *, total: int = _MOST_WAITING, slow_after_s: float = PATIENCE_S) -> None:
        self._free = total
        self._slow_after_s = slow_after_s
        # By when each body began to arrive, oldest first, and a number: the timeout of its next piece.
        self._arrivals: dict[tuple[float, int], asyncio.Timeout] = {}
        self._numbers = itertools.count()

    async def read(self, receive: Receive) -> bytes:
        """Return a body; raise `Refusal` if it is too large, too slow, or does not arrive in full."""
        pieces: list[bytes] = []
        size, kept_size, start = 0, 0, time.monotonic()
        arrival = (start, next(self._numbers))
        try:
            while True:
                async with asyncio.timeout(patience_s(size, start)) as self._arrivals[arrival]:
                    message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(status=400, reason="the request ended before its body did")
                piece, has_more = message.get("body", b""), message.get("more_body")
                size += len(piece)
                if size <= settings.MAX_BODY_BYTES:
                    pieces.append(piece)
                    kept_size, self._free = kept_size + len(piece), self._free - len(piece)
                # A client reads why when it has sent everything; until then, it sees only that the connection breaks.
                elif not has_more or size > _MOST_REFUSED * settings.MAX_BODY_BYTES:
                    raise Refusal(status=413, reason=f"the request is larger than {settings.MAX_BODY_BYTES} bytes")
                else:
                    pieces, kept_size, self._free = [], 0, self._free + kept_size
                if not has_more:
                    return b"".join(pieces)
                if self._free < 0 and not self._end_slowest(arrival):
                    raise Refusal(status=503, reason="too many large requests are arriving", may_retry=True)
        except TimeoutError as error:
            raise Refusal(
                status=408, reason="the body of the request did not arrive in time", may_retry=True
            ) from error
        finally:
            self._free += kept_size
            self._arrivals.pop(arrival, None)

    def _end_slowest(self, newcomer: tuple[float, int]) -> bool:
        """End the wait for the body that has been arriving for the longest time, if that is long, and another one."""
        arrival, timeout = next(iter(self._arrivals.items()))
        if arrival == newcomer or time.monotonic() - arrival[0] < self._slow_after_s:
            return False
        del self._arrivals[arrival]
        if not timeout.expired():
            timeout.reschedule(0)
        return True


async def respond(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole response. The length that a provider stated is that of its own framing."""
    own_headers = [(name, value) for name, value in headers if name != b"content-length"]
    length = [(b"content-length", str(len(body)).encode())] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*own_headers, *length]})
    await send({"type": "http.response.body", "body": body})


read_body = Bodies().read
