"""MCP server whose calls take time: on standard streams, or over streamable HTTP with streams that can be resumed.

python -m tests.support.servers.slow_mcp_server [port] [log]
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage

PORT, LOG = int(sys.argv[1]), Path(sys.argv[2])
server = MCPServer("desk")


class Events(EventStore):
    """All events in memory: the number of one is its id."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events) - 1)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str:
        stream = self._events[int(last_event_id)][0]
        for number, (name, message) in enumerate(self._events):
            if number > int(last_event_id) and name == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


@server.tool()
async def lookup(order_id: str, ctx: Context[Any, Any]) -> str:
    """Look an order up, and let the client come back for the result, or never respond."""
    with LOG.open("a") as log:
        log.write("lookup\n")
    if order_id == "hang":
        await asyncio.sleep(600)
    await ctx.report_progress(1, 2, "searching")
    if order_id.startswith("later"):
        await ctx.close_sse_stream()
        await asyncio.sleep(0.3)
        await ctx.report_progress(2, 2, "found it")
    return f"order {order_id} is here"


if __name__ == "__main__":
    if PORT:
        app = server.streamable_http_app(event_store=Events(), retry_interval=50)
        uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
    else:
        server.run("stdio")
