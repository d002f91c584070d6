"""Requests to MCP servers that leave the stream of a response open."""

import asyncio
from contextlib import suppress
from typing import Any

import orjson
import pytest

from cockpit.gateway.mcp import proxy, servers
from cockpit.gateway.mcp.proxy import Proxy
from cockpit.gateway.routes import McpRoute
from cockpit.http.gateway_sessions import Session
from cockpit.http.transfer.asgi import Message
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events

CALL: Any = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "lookup", "arguments": {}}}
LOG: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "busy"}}
RESPONSE: Any = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "found"}]}}


class OpenStream:
    """A server, in place of the client that reaches it, and a journal. Its stream never ends."""

    def __init__(self, *messages: Any) -> None:
        self.events = [b"data: " + orjson.dumps(message) + b"\n\n" for message in messages]
        self.lines: list[bytes] = []
        self.noted = asyncio.Event()

    async def exchange(self, method: str, url: str, headers: Any, body: bytes, answer: Any) -> str:
        await answer.start(200, {"content-type": "text/event-stream"})
        for event in self.events:
            await answer.pass_on(event)
        await asyncio.Event().wait()
        return ""

    def add(self, lines: Any) -> None:
        self.lines.append(lines())
        self.noted.set()


async def _call(server: Any) -> None:
    """Let a client call a tool, wait until something is noted of it, and go."""
    bodies = iter([{"type": "http.request", "body": orjson.dumps(CALL)}])

    async def receive() -> Message:
        return next(bodies)

    async def send(_: Message) -> None:
        """Read nothing."""

    scope = {"method": "POST", "headers": []}
    session, route = Session(run_id="r1", start=0), McpRoute(server="d")
    client = asyncio.create_task(Proxy(server, server).serve(scope, receive, send, session, route))
    await server.noted.wait()
    client.cancel()
    with suppress(asyncio.CancelledError):
        await client


@pytest.mark.parametrize(
    ("messages", "long_s", "status", "output"),
    [((LOG, RESPONSE), 600, "ok", "found"), ((LOG,), 0.01, "partial", None)],
)
def test_request_is_recorded_while_its_stream_is_open(
    monkeypatch: pytest.MonkeyPatch, messages: tuple[Any, ...], long_s: float, status: str, output: str | None
) -> None:
    monkeypatch.setattr(servers, "address", lambda _: "http://desk")
    monkeypatch.setattr(proxy, "_LONG_CALL_S", long_s)
    server = OpenStream(*messages)
    asyncio.run(_call(server))
    [run] = forkpoint_events.parse([Source(name="events", data=b"".join(server.lines))])
    [step] = run.steps
    assert (step.tool_name, step.status, step.output) == ("lookup", status, output)
