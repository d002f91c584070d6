"""MCP over streamable HTTP: messages pass to the server and are recorded, or are answered from a recording.

The stream of what a server sends of its own accord passes while it is recorded: a server may ask its client in it. A
rerun does not offer it, which the protocol allows.
"""

import asyncio
import time
from functools import partial
from typing import Final
from uuid import uuid4

import orjson

from cockpit.gateway import upstreams
from cockpit.gateway.mcp import live, messages, servers, steps
from cockpit.gateway.mcp.shim import Shim, read_message, recorded_response, request_to_make
from cockpit.gateway.mcp.waiting import CLIENT_SESSION, Key, Response, Waits, wait_for_hangup
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.routes import McpRoute
from cockpit.gateway.transport.answer import Answer
from cockpit.gateway.transport.asgi import Receive, Scope, Send, respond
from cockpit.gateway.transport.client import Client
from cockpit.gateway.transport.journal import Journal
from cockpit.http.gateway_sessions import Session
from replay.core.vocabulary import RerunDecision
from replay.reruns.schemas import ToolAnswer
from traces.core.json_types import JSONObject, JSONValue

_ALLOW: Final = [(b"allow", b"POST, DELETE")]


class Proxy:
    """Serves the MCP addresses of the gateway's sessions."""

    def __init__(self, client: Client, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self._live_servers = live.Servers(client)
        self._waits = Waits()
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
        elif scope["method"] == "GET" and not session.is_rerun:
            await self._pass_events(scope, receive, send, server)
        elif scope["method"] != "POST":
            await respond(send, 405, _ALLOW, b"")
        else:
            await self._serve_message(scope, await read_message(receive), receive, send, session, server)

    async def _pass_events(self, scope: Scope, receive: Receive, send: Send, server: str) -> None:
        """Pass on what a server sends of its own accord, until it or the client ends that."""
        tasks = [
            asyncio.create_task(self._forward(scope, b"", send, server, is_kept=False)),
            asyncio.create_task(wait_for_hangup(receive)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve_message(
        self, scope: Scope, message: JSONObject, receive: Receive, send: Send, session: Session, server: str
    ) -> None:
        response = Response(receive, send, message, reads_events=_reads_events(scope))
        try:
            if not session.is_rerun:
                await self._record(scope, message, send, session, server)
            elif messages.is_request(message):
                await response.finish(await self._play(scope, message, response, session, server))
            else:
                self._waits.cancel(_key(scope, session, server, messages.cancelled_id(message)))
                await respond(send, 202, [], b"")
        except Refusal as refusal:
            if not messages.is_request(message):
                raise
            await response.finish(messages.refusal(message[messages.MESSAGE_ID], refusal.reason))

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
        self._journal.add(
            lambda: exchange(
                response=live.find_response(answer, message), notifications=live.find_notifications(answer, message)
            ).lines(session)
        )

    async def _play(
        self, scope: Scope, request: JSONObject, response: Response, session: Session, server: str
    ) -> JSONObject | None:
        """Return the response to a request: from the recording, or of the server where the call may run.

        None if the client wants no response any more. Raise `Refusal`.
        """
        if messages.has_sdk_mark(request):
            return await self._live_servers.ask(session, server, messages.without_sdk_mark(request), scope["headers"])
        call_id, start = uuid4().hex, time.time()

        async def ask(is_last: bool) -> ToolAnswer:
            return await asyncio.to_thread(steps.answer, session, server, request, call_id, is_last=is_last)

        answer = await ask(False)
        if answer.decision is RerunDecision.ASK:
            key = _key(scope, session, server, request[messages.MESSAGE_ID])
            operator_answer = await self._waits.wait(key, ask, response)
            if operator_answer is None:
                return None
            answer = operator_answer
        known_response = await recorded_response(session, server, request, answer, call_id, start)
        if known_response is not None:
            await response.notify(answer.notifications)
            return known_response
        start = time.time()
        result = await self._live_servers.ask(session, server, request_to_make(request, answer), scope["headers"])
        exchange = steps.Exchange(
            server=server, request=request, response=result, start=start, end=time.time(), id=call_id
        )
        await asyncio.to_thread(steps.report, session, exchange, steps.LIVE)
        return result

    async def _forward(
        self, scope: Scope, body: bytes, send: Send, server: str, *, is_kept: bool = True
    ) -> tuple[Answer, str]:
        """Pass a request to the server; return the answer, and why it did not arrive or only in part."""
        url = servers.address(server)
        answer = Answer(send, time.time(), is_kept=is_kept)
        headers = upstreams.request_headers(scope["headers"], "")
        problem = await self._client.exchange(scope["method"], url, headers, body, answer)
        if problem:
            await answer.fail(Refusal(status=502, reason=f"the MCP server did not answer: {problem}"), "")
        return answer, problem


def _reads_events(scope: Scope) -> bool:
    return any(name == b"accept" and b"text/event-stream" in value for name, value in scope["headers"])


def _key(scope: Scope, session: Session, server: str, id: JSONValue) -> Key:
    """Return what tells a client's request from all others."""
    client = next((value for name, value in scope["headers"] if name == CLIENT_SESSION), b"")
    return session.run_id, server, client, orjson.dumps(id)
