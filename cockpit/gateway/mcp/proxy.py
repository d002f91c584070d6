"""MCP over streamable HTTP: messages pass to the server and are recorded, or are answered from a recording.

Only answers to the agent's own messages pass. The stream of what a server sends of its own accord is not offered, which
the protocol allows.
"""

import asyncio
import time
from functools import partial
from typing import Final

import orjson

from cockpit.gateway import upstreams
from cockpit.gateway.mcp import live, messages, servers, steps
from cockpit.gateway.mcp.shim import Shim, read_message, recorded_message, send_message
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.routes import McpRoute
from cockpit.gateway.sessions import Session
from cockpit.gateway.transport.answer import Answer
from cockpit.gateway.transport.asgi import Receive, Scope, Send, respond
from cockpit.gateway.transport.client import Client
from cockpit.gateway.transport.journal import Journal
from traces.core.json_types import JSONObject

_ALLOW: Final = [(b"allow", b"POST, DELETE")]


class Proxy:
    """Serves the MCP addresses of the gateway's sessions."""

    def __init__(self, client: Client, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self._live_servers = live.Servers(client)
        self._shim = Shim(journal)

    async def serve(self, scope: Scope, receive: Receive, send: Send, session: Session, route: McpRoute) -> None:
        """Answer one request for a server."""
        server = route.server
        if route.shim:
            await self._shim.serve(receive, send, session, route)
        elif scope["method"] == "DELETE" and session.is_rerun:
            await respond(send, 200, [], b"")
        elif scope["method"] == "DELETE":
            await self._forward(scope, b"", send, server)
        elif scope["method"] != "POST":
            await respond(send, 405, _ALLOW, b"")
        else:
            await self._serve_message(scope, await read_message(receive), send, session, server)

    async def _serve_message(
        self, scope: Scope, message: JSONObject, send: Send, session: Session, server: str
    ) -> None:
        try:
            if session.is_rerun:
                await self._play(scope, message, send, session, server)
            else:
                await self._record(scope, message, send, session, server)
        except Refusal as refusal:
            if not messages.is_request(message):
                raise
            await send_message(send, messages.refusal(message[messages.MESSAGE_ID], refusal.reason))

    async def _record(self, scope: Scope, message: JSONObject, send: Send, session: Session, server: str) -> None:
        """Pass a message to the server and its answer on. What the SDK in the agent records is not recorded here."""
        start = time.time()
        body = orjson.dumps(messages.without_sdk_mark(message))
        answer, problem = await self._forward(scope, body, send, server)
        if not messages.is_request(message) or messages.has_sdk_mark(message):
            return
        exchange = partial(
            steps.Exchange,
            server=server,
            request=message,
            start=start,
            end=time.time(),
            problem=problem or (f"HTTP {answer.status}" if answer.status >= 400 else ""),
        )
        self._journal.add(lambda: exchange(response=live.find_response(answer, message)).lines(session))

    async def _play(self, scope: Scope, message: JSONObject, send: Send, session: Session, server: str) -> None:
        """Answer a message from the recording, or let the server answer where the call may run."""
        if not messages.is_request(message):
            await respond(send, 202, [], b"")
            return
        is_reported = messages.has_sdk_mark(message)
        if not is_reported and (recorded_response := await recorded_message(session, server, message)) is not None:
            await send_message(send, recorded_response)
            return
        start = time.time()
        response = await self._live_servers.ask(session, server, messages.without_sdk_mark(message), scope["headers"])
        if not is_reported:
            exchange = steps.Exchange(server=server, request=message, response=response, start=start, end=time.time())
            await asyncio.to_thread(steps.report, session, exchange, steps.LIVE)
        await send_message(send, response)

    async def _forward(self, scope: Scope, body: bytes, send: Send, server: str) -> tuple[Answer, str]:
        """Pass a request to the server; return the answer, and why it did not arrive or only in part."""
        url = servers.address(server)
        answer = Answer(send, time.time())
        headers = upstreams.request_headers(scope["headers"], "")
        problem = await self._client.exchange(scope["method"], url, headers, body, answer)
        if problem:
            await answer.fail(Refusal(status=502, reason=f"the MCP server did not answer: {problem}"), "")
        return answer, problem
