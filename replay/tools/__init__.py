"""Live tool calls: HTTP endpoints, Python callables and MCP servers, as the operator configured them."""

from replay.tools.configuration import configured, executors
from replay.tools.lasting import kept_open
from replay.tools.types import Tool, ToolCall, ToolFailed, ToolResult

__all__ = ["Tool", "ToolCall", "ToolFailed", "ToolResult", "configured", "executors", "kept_open", "run"]


def run(tool: Tool, call: ToolCall) -> ToolResult:
    """Run the tool once; raises `ToolFailed`. Nothing is retried here."""
    from replay.tools import execution  # noqa: PLC0415 - HTTP and MCP clients are slow to import, and most runs need none

    return execution.run(tool, call)
