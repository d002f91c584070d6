"""MCP servers that a rerun reaches for a call that may run. The agent's own handshake may not have reached them."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import orjson

from cockpit.gateway import upstreams
from cockpit.gateway.mcp import messages, servers
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.answer import Answer, discard
from cockpit.gateway.transport.client import Client
from cockpit.http.gateway_sessions import Session
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject

_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_DEFAULT_VERSION: Final = "2025-06-18"
_MOST_SERVERS: Final = 100
_NOT_FOUND: Final = 404

Headers = list[tuple[str, str]]


class Servers:
    """Sessions with servers, one for each rerun: a server may keep a state in it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

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
        if len(self._ids) > _MOST_SERVERS:
            oldest_key, _ = self._ids.popitem(last=False)
            self._locks.pop(oldest_key, None)
        await self._send(key[1], {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers, id)

    async def _send(self, server: str, message: JSONObject, headers: Headers, id: str) -> Answer:
        answer = Answer(discard, time.time())
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


def find_progress(answer: Answer, request: JSONObject) -> list[JSONObject]:
    """Return what an answer of a server says of the progress of its request."""
    return messages.find_progress(answer.body, request) if answer.media_type.startswith("text/event-stream") else []


def _response(answer: Answer, request: JSONObject) -> JSONObject:
    response = find_response(answer, request)
    if response is None:
        raise Refusal(status=502, reason=f"the MCP server answered HTTP {answer.status} without a response")
    return response
