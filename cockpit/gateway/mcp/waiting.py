"""Requests of clients in a rerun that take a while: for the operator, or for a client's own answers to its server.

A wait ends with an answer, or without one: when the client hangs up or cancels its request, or in the end. Meanwhile
the response is a stream of events. Comments in it keep the connection open, and a client that asked for the progress of
its request may extend its own time limit by it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import orjson

from cockpit.gateway.mcp import messages
from cockpit.gateway.transport.asgi import JSON, respond
from cockpit.http.transfer.asgi import Headers, Receive, Send
from replay.core.vocabulary import RerunDecision
from replay.reruns.schemas import ToolAnswer
from traces.core.json_types import JSONObject

# As long as an agent's own tools wait.
OPERATOR_S: Final = 3600.0
_POLL_S: Final = 0.5
_SIGN_OF_LIFE_S: Final = 5.0
_STREAM: Final[Headers] = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
# Asks about a call again; True: for the last time.
Ask = Callable[[bool], Awaitable[ToolAnswer]]
# A rerun, a server, a client's session with it, and the id that the client gave its request.
Key = tuple[str, str, bytes, bytes]
# Tasks that end when the client wants no response any more.
Ends = Sequence[asyncio.Task[Any]]
# The header with the session of a client: two clients may give their requests the same ids.
CLIENT_SESSION: Final = b"mcp-session-id"


class Response:
    """The response to one request: at once, or at the end of a stream that shows that it is on its way."""

    def __init__(self, receive: Receive, send: Send, request: JSONObject, *, reads_events: bool) -> None:
        self._receive = receive
        self._send = send
        self._request = request
        self.reads_events = reads_events
        self._has_begun = False
        self._signs = 0
        # The session that a handshake opens.
        self.new_session = uuid4().hex.encode() if messages.is_handshake(request) else b""

    async def finish(self, message: JSONObject | None) -> None:
        """Send the response; None: the client wants none any more."""
        if self._has_begun:
            body = b"" if message is None else _event(message)
            await self._send({"type": "http.response.body", "body": body})
        elif message is None:
            await respond(self._send, 202, [], b"")
        else:
            session = [(CLIENT_SESSION, self.new_session)] if self.new_session else []
            await respond(self._send, 200, [*JSON, *session], orjson.dumps(message))

    async def fail(self, status: int, body: bytes, message: JSONObject) -> None:
        """Answer as the server's transport failed; a stream that has begun can only have an error of the protocol."""
        if self._has_begun:
            await self.finish(message)
        else:
            await respond(self._send, status, JSON, body)

    async def show_life(self) -> None:
        """Send a comment or, to a client that asked for it, the progress of its request."""
        if not self.reads_events:
            return
        self._signs += 1
        notification = messages.notification(self._request, messages.waiting_progress(self._signs))
        await self._send_event(b": waits for the operator\n\n" if notification is None else _event(notification))

    async def notify(self, item: JSONObject) -> None:
        """Send a recorded notification of the server; one about progress to a client that asked for it."""
        if (notification := messages.notification(self._request, item)) is not None:
            await self.pass_on(notification)

    async def pass_on(self, message: JSONObject) -> None:
        """Send a message before the response, to a client that reads more than that."""
        if self.reads_events:
            await self._send_event(_event(message))

    async def _send_event(self, event: bytes) -> None:
        if not self._has_begun:
            self._has_begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _STREAM})
        await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def wait_for_hangup(self) -> None:
        await wait_for_hangup(self._receive)


async def wait_for_hangup(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(message: JSONObject) -> bytes:
    return b"data: " + orjson.dumps(message) + b"\n\n"


class Waits:
    """The requests that are open."""

    def __init__(self) -> None:
        self._cancellations: dict[Key, asyncio.Event] = {}

    def cancel(self, key: Key) -> None:
        """End the waits of a request that its client has cancelled."""
        if (cancellation := self._cancellations.get(key)) is not None:
            cancellation.set()

    @asynccontextmanager
    async def watch(self, key: Key, response: Response) -> AsyncIterator[Ends]:
        """Watch whether the client of a request still wants its response."""
        cancellation = self._cancellations[key] = asyncio.Event()
        ends = [asyncio.create_task(cancellation.wait()), asyncio.create_task(response.wait_for_hangup())]
        try:
            yield ends
        finally:
            for end in ends:
                end.cancel()
            self._cancellations.pop(key, None)


async def wait_for_operator(ends: Ends, ask: Ask, response: Response) -> ToolAnswer | None:
    """Ask until there is an answer. Return None, with the question closed, if the client wants none any more."""
    loop = asyncio.get_running_loop()
    end_s, sign_s = loop.time() + OPERATOR_S, 0.0
    try:
        while loop.time() < end_s:
            if loop.time() >= sign_s:
                await response.show_life()
                sign_s = loop.time() + _SIGN_OF_LIFE_S
            if (await asyncio.wait(ends, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED))[0]:
                await ask(True)
                return None
            if (answer := await ask(False)).decision is not RerunDecision.ASK:
                return answer
        return await ask(True)
    except asyncio.CancelledError:
        # The server stops, which ends the connection.
        await asyncio.shield(ask(True))
        raise
