"""MCP server on standard streams or over streamable HTTP.

python -m tests.support.servers.mcp_server [port] [log]
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("desk")


class Consent(BaseModel):
    """What the client is asked."""

    is_sure: bool = True


PORT, LOG = int(sys.argv[1]), Path(sys.argv[2])


def _note(context: Context[Any, Any], name: str) -> None:
    meta = context.request_context.meta
    mark = (meta or {}).get("forkpoint_replay") if isinstance(meta, dict) else getattr(meta, "forkpoint_replay", None)
    line = {"tool": name, "meta": mark, "variable": os.environ.get("FORKPOINT_REPLAY"), "pid": os.getpid()}
    if (request := context.request_context.request) is not None:
        line["session"] = request.headers.get("mcp-session-id")
    with LOG.open("a") as log:
        log.write(json.dumps(line) + "\n")


async def _talk(context: Context[Any, Any]) -> str:
    """Ask the client three things, and tell it how that goes: in the response's stream and in the server's own."""
    await context.report_progress(1, 2, "asking")
    question = SamplingMessage(role="user", content=TextContent(type="text", text="which?"))
    sample = await context.session.create_message([question], max_tokens=9)
    consent = await context.elicit("really?", Consent)
    await context.info("almost")
    roots = await context.session.list_roots()
    answers = [getattr(sample.content, "text", ""), consent.action, *(str(root.uri) for root in roots.roots)]
    return "the client said " + ", ".join(answers)


@server.tool()
async def lookup(order_id: str, ctx: Context[Any, Any]) -> str:
    """Look an order up."""
    _note(ctx, "lookup")
    if order_id == "none":
        raise ValueError("there is no such order")
    if order_id == "die":
        os._exit(3)
    if order_id == "hang":
        time.sleep(600)
    if order_id.startswith("ask"):
        question = SamplingMessage(role="user", content=TextContent(type="text", text="which?"))
        answer = await ctx.session.create_message([question], max_tokens=9)
        return f"the client said {getattr(answer.content, 'text', '')}"
    if order_id == "talk":
        return await _talk(ctx)
    if order_id == "slow":
        for done, text in enumerate(("searching", "found it"), 1):
            await ctx.report_progress(done, 2, text)
        await ctx.info("found late")
    return json.dumps({"id": order_id, "status": "found by mcp"})


if __name__ == "__main__":
    if PORT:
        server.run("streamable-http", host="127.0.0.1", port=PORT)
    else:
        server.run("stdio")
