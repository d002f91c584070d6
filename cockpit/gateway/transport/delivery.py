"""A live answer of a fork on its way to the agent: a stream as it arrives, any other answer when it is stored."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.asgi import Message, Send, respond

_SLOW_CLIENT_S: Final = 30.0


class Delivery:
    """Passes a stream on from its turn on, except for its end.

    The agent therefore sees the end of an answer only when it is stored.
    """

    def __init__(self, send: Send, turn: Callable[[], Awaitable[None]]) -> None:
        self._send = send
        self._turn = turn
        self._is_stream = False
        self._held_messages: list[Message] = []

    async def pass_on(self, message: Message) -> None:
        """Send a message of the answer, or hold it until the answer is stored."""
        if message["type"] == "http.response.start":
            self._is_stream = _is_stream(message)
            if self._is_stream:
                await self._turn()
        if self._is_stream and (message["type"] == "http.response.start" or message.get("more_body")):
            await self._send(message)
        else:
            self._held_messages.append(message)

    async def fail(self, refusal: Refusal, protocol: str) -> None:
        """Refuse in place of an answer that did not arrive in full. A stream just ends early, as the provider's did."""
        if not self._is_stream:
            self._held_messages.clear()
            await respond(self.pass_on, refusal.status, refusal.headers(), refusal.body(protocol))

    async def finish(self) -> None:
        """Send what was held. An agent that is gone gets nothing."""
        if not self._is_stream:
            await self._turn()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_SLOW_CLIENT_S):
                for message in self._held_messages:
                    await self._send(message)


def _is_stream(message: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in message["headers"])
