"""MCP servers that a rerun reaches for a call that may run. The agent's own handshake may not have reached them.

What such a server asks its client is refused at once: it would wait for the answer of an agent that is not asked.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import orjson

from cockpit.gateway import upstreams
from cockpit.gateway.mcp import messages, servers
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.answer import Answer, discard
from cockpit.gateway.transport.asgi import Message, Send
from cockpit.gateway.transport.client import Client
from cockpit.http.gateway_sessions import Session
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject

_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_DEFAULT_VERSION: Final = "2025-06-18"
_MOST_SERVERS: Final = 100
_BEGIN_S: Final = 2.0
_NOT_FOUND: Final = 404

Headers = list[tuple[str, str]]


class Servers:
    """Sessions with servers, one for each rerun: a server may keep a state in it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        # What each server sends of its own accord.
        self._events: dict[tuple[str, str], asyncio.Task[str]] = {}

    async def ask(
        self, session: Session, server: str, message: JSONObject, headers: Iterable[tuple[bytes, bytes]]
    ) -> JSONObject:
        """Return the response of a server to a request; raise `Refusal`."""
        key = (session.run_id, server)
        own_headers = _without_session(upstreams.request_headers(headers, ""))
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._ids:
                await self._open(key, own_headers)
        answer = await self._send(server, message, own_headers, self._ids.get(key, ""))
        if answer.status == _NOT_FOUND:
            # The server has ended the session, as it may at any time.
            self._ids.pop(key, None)
            await self._open(key, own_headers)
            answer = await self._send(server, message, own_headers, self._ids[key])
        return _response(answer, message)

    async def _open(self, key: tuple[str, str], headers: Headers) -> None:
        """Make a handshake with a server."""
        version = next((value for name, value in headers if name == _VERSION), _DEFAULT_VERSION)
        request: JSONObject = {
            "jsonrpc": "2.0",
            messages.MESSAGE_ID: 0,
            "method": "initialize",
            "params": {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "forkpoint", "version": "1"},
            },
        }
        answer = await self._send(key[1], request, headers, "")
        response = _response(answer, request)
        if "error" in response:
            raise Refusal(
                status=502, reason=f"the MCP server refused: {as_text(as_object(response['error']).get('message'))}"
            )
        id = next((value for name, value in answer.headers if name.lower() == _SESSION), "")
        self._ids[key] = id
        await self._read_events(key, headers, id)
        if len(self._ids) > _MOST_SERVERS:
            oldest_key, _ = self._ids.popitem(last=False)
            self._locks.pop(oldest_key, None)
            if (events := self._events.pop(oldest_key, None)) is not None:
                events.cancel()
        await self._send(key[1], {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers, id)

    async def _read_events(self, key: tuple[str, str], headers: Headers, id: str) -> None:
        """Read what a server sends outside of its answers, as long as its session lasts."""
        if (events := self._events.pop(key, None)) is not None:
            events.cancel()
        if not id:
            return
        rest = [(name, value) for name, value in headers if name not in ("accept", "content-type")]
        all_headers = [*rest, ("accept", "text/event-stream"), (_SESSION, id)]
        refuse, has_begun = self._refuser(key[1], headers, id), asyncio.Event()

        async def read(message: Message) -> None:
            has_begun.set()
            await refuse(message)

        answer = Answer(read, time.time(), is_kept=False)
        exchange = self._client.exchange("GET", servers.address(key[1]), all_headers, b"", answer)
        self._events[key] = asyncio.create_task(exchange)
        # A server loses what it says before.
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEGIN_S):
                await has_begun.wait()

    def _refuser(self, server: str, headers: Headers, id: str) -> Send:
        """Return what gets the answer of a server, and refuses the requests in it."""
        stream = messages.RequestStream()

        async def refuse(message: Message) -> None:
            for request in stream.add(message.get("body", b"")):
                refusal = messages.refusal(request[messages.MESSAGE_ID], "a rerun does not ask the agent")
                await self._send(server, refusal, headers, id)

        return refuse

    async def _send(self, server: str, message: JSONObject, headers: Headers, id: str) -> Answer:
        is_request = messages.is_request(message)
        answer = Answer(self._refuser(server, headers, id) if is_request else discard, time.time())
        all_headers = [*headers, *([(_SESSION, id)] if id else [])]
        problem = await self._client.exchange(
            "POST", servers.address(server), all_headers, orjson.dumps(message), answer
        )
        if problem:
            raise Refusal(status=502, reason=f"the MCP server did not answer: {problem}")
        return answer


def _without_session(headers: Headers) -> Headers:
    return [(name, value) for name, value in headers if name != _SESSION]


def find_response(answer: Answer, request: JSONObject) -> JSONObject | None:
    """Return the response to a request in an answer of its server."""
    is_stream = answer.media_type.startswith("text/event-stream")
    return messages.find_response(answer.body, request[messages.MESSAGE_ID], is_stream=is_stream)


def find_notifications(answer: Answer, request: JSONObject) -> list[JSONObject]:
    """Return what a server said before its response."""
    is_stream = answer.media_type.startswith("text/event-stream")
    return messages.find_notifications(answer.body, request) if is_stream else []


def _response(answer: Answer, request: JSONObject) -> JSONObject:
    response = find_response(answer, request)
    if response is None:
        raise Refusal(status=502, reason=f"the MCP server answered HTTP {answer.status} without a response")
    return response
