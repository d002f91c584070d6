"""Live tool calls: HTTP endpoints, Python callables and MCP servers, as the operator configured them."""

from replay.live.tools.configuration import configured, executors
from replay.live.tools.connection_pool import kept_open
from replay.live.tools.types import Tool, ToolCall, ToolFailed, ToolResult

__all__ = ["Tool", "ToolCall", "ToolFailed", "ToolResult", "configured", "executors", "kept_open", "run"]


def run(tool: Tool, call: ToolCall) -> ToolResult:
    """Run the tool once; raises `ToolFailed`. Nothing is retried here."""
    from replay.live.tools import dispatch  # noqa: PLC0415 - HTTP and MCP clients are slow to import, and most runs need none

    return dispatch.run(tool, call)
