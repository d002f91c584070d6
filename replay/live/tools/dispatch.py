"""Dispatch of a tool call to the configured kind of executor."""

from replay.live.tools import http, python
from replay.live.tools.types import Tool, ToolCall, ToolResult
from traces.core.canonical import NotCanonical, digest
from traces.core.vocabulary import StepStatus


def run(tool: Tool, call: ToolCall) -> ToolResult:
    """Run the tool.

    Raises `ToolFailure` if there is no answer. An error that the tool returns is an answer.
    """
    result = _run(tool, call)
    try:
        digest(result.output)
    except NotCanonical as error:
        return ToolResult(output={"error": f"the tool's answer cannot be stored: {error}"}, status=StepStatus.ERROR)
    return result


def _run(tool: Tool, call: ToolCall) -> ToolResult:
    entry = tool.entry
    if entry.http is not None:
        return http.run(tool, entry.http, call)
    if entry.mcp is not None:
        from replay.live.tools import mcp  # noqa: PLC0415 - its client takes a second to import, and most tools need none

        return mcp.run(tool, entry.mcp, call)
    return python.run(tool, entry.python or tool.name, call)
