"""Live tool calls: HTTP endpoints, Python callables and MCP servers that the operator configured."""

from replay.live.tools.configuration import configured_tools, executors
from replay.live.tools.connection_pool import connection_scope
from replay.live.tools.types import Tool, ToolCall, ToolFailure, ToolResult

__all__ = ["Tool", "ToolCall", "ToolFailure", "ToolResult", "configured_tools", "connection_scope", "executors", "run"]


def run(tool: Tool, call: ToolCall) -> ToolResult:
    """Run the tool once; raises `ToolFailure`. Nothing is retried here."""
    from replay.live.tools import dispatch  # noqa: PLC0415 - HTTP and MCP clients are slow to import, and most runs need none

    return dispatch.run(tool, call)
