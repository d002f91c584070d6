"""A live answer of a fork on its way to the agent: a stream as it arrives, any other answer when it is stored."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from cockpit.gateway.answers import end_of_events
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.asgi import respond
from cockpit.http.transfer.asgi import Message, Send
from replay.reruns.core.playback import is_stream_type

_SLOW_CLIENT_S: Final = 30.0


class Delivery:
    """Passes the events of a stream on from its turn on, except for its end.

    The agent therefore sees the end of an answer only when it is stored. `check` returns what takes the place of whole
    events that must not reach the agent, and of all that follows; empty if they may pass.
    """

    def __init__(
        self, send: Send, turn: Callable[[], Awaitable[None]], check: Callable[[bytes], Awaitable[bytes]]
    ) -> None:
        self._send = send
        self._turn = turn
        self._check = check
        self.is_stream = False
        self._media_type = ""
        self.is_refused = False
        # The beginning of an event. One may have megabytes, and arrives in small pieces.
        self._rest = bytearray()
        self._held_messages: list[Message] = []

    async def pass_on(self, message: Message) -> None:
        """Send a message of the answer, or hold it until the answer is stored."""
        if message["type"] == "http.response.start":
            self._media_type = _header(message, b"content-type")
            # A compressed one cannot be read on the way.
            self.is_stream = is_stream_type(self._media_type) and not _header(message, b"content-encoding")
            if self.is_stream:
                await self._turn()
                await self._send(message)
                return
        elif self.is_stream:
            is_end = not message.get("more_body")
            await self._pass_events(message["body"], is_end=is_end)
            if not is_end:
                return
        self._held_messages.append(message)

    async def _pass_events(self, piece: bytes, *, is_end: bool) -> None:
        if self.is_refused:
            return
        # An end of up to four bytes may have begun in the piece before.
        start = max(0, len(self._rest) - 3)
        self._rest += piece
        end = len(self._rest) if is_end else end_of_events(self._rest, start, self._media_type)
        events = bytes(self._rest[:end])
        del self._rest[:end]
        if events and (refusal := await self._check(events)):
            self.is_refused, events = True, refusal
        if events:
            await self._send({"type": "http.response.body", "body": events, "more_body": True})

    async def fail(self, refusal: Refusal, protocol: str) -> None:
        """Refuse in place of an answer that did not arrive in full. A stream just ends early, as the provider's did."""
        if not self.is_stream:
            self._held_messages.clear()
            await respond(self.pass_on, refusal.status, refusal.headers(), refusal.body(protocol))

    async def finish(self) -> None:
        """Send what was held. An agent that is gone gets nothing."""
        if not self.is_stream:
            await self._turn()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_SLOW_CLIENT_S):
                for message in self._held_messages:
                    await self._send(message)


def _header(message: Message, name: bytes) -> str:
    return str(dict(message["headers"]).get(name, b"").decode("latin-1")).lower()
