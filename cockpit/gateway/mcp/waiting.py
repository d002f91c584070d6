"""Requests about which the operator decides: they wait, and their clients see that they do.

A wait ends with the operator's answer, or without one: when the client hangs up or cancels its request, or in the end.
Meanwhile the response is a stream of events. Comments in it keep the connection open, and a client that asked for the
progress of its request may extend its own time limit by it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import uuid4

import orjson

from cockpit.gateway.mcp import messages
from cockpit.gateway.transport.asgi import JSON, Headers, Receive, Send, respond
from replay.core.vocabulary import RerunDecision
from replay.reruns.schemas import ToolAnswer
from traces.core.json_types import JSONObject

# As long as an agent's own tools wait.
_OPERATOR_S: Final = 3600.0
_POLL_S: Final = 0.5
_SIGN_OF_LIFE_S: Final = 5.0
_STREAM: Final[Headers] = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
# Asks about a call again; True: for the last time.
Ask = Callable[[bool], Awaitable[ToolAnswer]]
# A rerun, a server, a client's session with it, and the id that the client gave its request.
Key = tuple[str, str, bytes, bytes]
# The header with the session of a client: two clients may give their requests the same ids.
CLIENT_SESSION: Final = b"mcp-session-id"


class Response:
    """The response to one request: at once, or at the end of a stream that shows that it is on its way."""

    def __init__(self, receive: Receive, send: Send, request: JSONObject, *, reads_events: bool) -> None:
        self._receive = receive
        self._send = send
        self._request = request
        self._reads_events = reads_events
        self._has_begun = False
        self._signs = 0

    async def finish(self, message: JSONObject | None) -> None:
        """Send the response; None: the client wants none any more."""
        if self._has_begun:
            body = b"" if message is None else _event(message)
            await self._send({"type": "http.response.body", "body": body})
        elif message is None:
            await respond(self._send, 202, [], b"")
        else:
            session = [(CLIENT_SESSION, uuid4().hex.encode())] if messages.is_handshake(self._request) else []
            await respond(self._send, 200, [*JSON, *session], orjson.dumps(message))

    async def show_life(self) -> None:
        """Send a comment or, to a client that asked for it, the progress of its request."""
        if not self._reads_events:
            return
        self._signs += 1
        notification = messages.notification(self._request, messages.waiting_progress(self._signs))
        await self._send_event(b": waits for the operator\n\n" if notification is None else _event(notification))

    async def notify(self, notifications: Sequence[JSONObject]) -> None:
        """Send what the server said when the request was recorded; its progress to a client that asked for it."""
        if not self._reads_events:
            return
        for item in notifications:
            if (notification := messages.notification(self._request, item)) is not None:
                await self._send_event(_event(notification))

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
    """The requests that wait."""

    def __init__(self) -> None:
        self._cancellations: dict[Key, asyncio.Event] = {}

    def cancel(self, key: Key) -> None:
        """End the wait of a request that its client has cancelled."""
        if (cancellation := self._cancellations.get(key)) is not None:
            cancellation.set()

    async def wait(self, key: Key, ask: Ask, response: Response) -> ToolAnswer | None:
        """Ask until there is an answer. Return None, with the question closed, if the client wants none any more."""
        cancellation = self._cancellations[key] = asyncio.Event()
        ends = [asyncio.create_task(cancellation.wait()), asyncio.create_task(response.wait_for_hangup())]
        loop = asyncio.get_running_loop()
        end_s, sign_s = loop.time() + _OPERATOR_S, 0.0
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
        finally:
            for end in ends:
                end.cancel()
            del self._cancellations[key]
