"""Tools of MCP servers, on standard streams or over streamable HTTP."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import mcp
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from replay import egress
from replay.tools.http import CONNECT_S, HEADER, secrets
from replay.tools.types import McpTool, Tool, ToolCall, ToolFailed, ToolResult
from traces.json_types import JSONValue
from traces.vocabulary import StepStatus

VARIABLE: Final = "FORKPOINT_REPLAY"
META: Final = "forkpoint_replay"


class _Sent:
    """Whether the call has gone out: what fails before has certainly not run."""

    yet = False


def run(tool: Tool, server: McpTool, call: ToolCall) -> ToolResult:
    """One connection for one call, so that no call sees what another one left behind."""
    sent = _Sent()
    try:
        return asyncio.run(asyncio.wait_for(_call(tool, server, call, sent), tool.entry.timeout_s))
    except TimeoutError as error:
        detail = f"{tool.name} did not answer in {tool.entry.timeout_s:g} s"
        raise ToolFailed(detail, code="timeout", retryable=True, may_have_run=sent.yet) from error
    except Exception as error:
        raise _failed(tool, error, sent) from error


async def _call(tool: Tool, server: McpTool, call: ToolCall, sent: _Sent) -> ToolResult:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    meta: Any = {META: call.replay}  # the protocol leaves `_meta` open, its type does not
    async with _transport(server, call) as transport, mcp.Client(transport) as client:
        sent.yet = True
        try:
            found = await client.call_tool(server.tool or tool.name, arguments, meta=meta)
        except mcp.MCPError as error:
            if error.error.code == mcp.types.CONNECTION_CLOSED:
                raise
            return ToolResult(output={"error": str(error)}, status=StepStatus.ERROR)
    return ToolResult(output=_output(found), status=StepStatus.ERROR if found.is_error else StepStatus.OK)


@asynccontextmanager
async def _transport(server: McpTool, call: ToolCall) -> AsyncIterator[Any]:
    """What the SDK connects through; over HTTP it reaches the configured host and nothing else."""
    if server.url is not None:
        headers = {**secrets(server.headers_env), HEADER: call.replay}
        destination = egress.Destination(host=server.url.host or "", operator=True)
        async with egress.async_client([destination], connect_s=CONNECT_S, headers=headers) as http:
            yield streamable_http_client(str(server.url), http_client=http)
        return
    environment = {**secrets(server.env), VARIABLE: call.replay}
    given = mcp.StdioServerParameters(command=server.command or "", args=server.args, env=environment)
    with Path(os.devnull).open("w") as nowhere:  # its log may hold payloads
        yield stdio_client(given, errlog=nowhere)


def _failed(tool: Tool, error: BaseException, sent: _Sent) -> ToolFailed:
    """The SDK's task groups wrap what went wrong."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ToolFailed):
        return error
    if isinstance(error, egress.EgressRefused):
        return ToolFailed(str(error), code="egress_refused", retryable=False, may_have_run=False)
    if isinstance(error, FileNotFoundError | PermissionError):
        detail = f"the command of {tool.name} cannot be run: {error.strerror}"
        return ToolFailed(detail, code="tool_unavailable", retryable=False, may_have_run=False)
    detail = f"the MCP server of {tool.name} failed: {type(error).__name__}: {error}"
    return ToolFailed(detail, code="network", retryable=True, may_have_run=sent.yet)


def _output(found: Any) -> JSONValue:
    """One text is that text, or the JSON that it holds; anything else is the list of content blocks."""
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in found.content]
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return _parsed(blocks[0]["text"])
    if not blocks and found.structured_content is not None:
        structured: JSONValue = found.structured_content
        return structured
    return blocks


def _parsed(text: str) -> JSONValue:
    """Objects and lists only: a text that looks like a number is a text."""
    try:
        value: JSONValue = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text
