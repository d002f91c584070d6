"""Tools of MCP servers, over stdio or streamable HTTP; a replay's calls share one connection."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import mcp
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from replay.live import egress, timeouts
from replay.live.tools import connection_pool
from replay.live.tools.http import CONNECT_S, HEADER, secrets
from replay.live.tools.types import McpTool, Tool, ToolCall, ToolFailure, ToolResult
from traces.core.json_access import as_object
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus

VARIABLE: Final = "FORKPOINT_REPLAY"
META: Final = "forkpoint_replay"
_CLOSE_S: Final = 5.0
_PROBE_S: Final = 5.0
_Result = TypeVar("_Result")


class _Progress:
    """Progress of a call: if it fails before `is_sent`, the tool has certainly not run."""

    is_sent = False


def run(tool: Tool, server: McpTool, call: ToolCall) -> ToolResult:
    """Call the tool over the replay's connection to this server."""
    progress = _Progress()
    try:
        return _run(tool, server, call, progress)
    except TimeoutError as error:
        detail = f"{tool.name} did not answer in {tool.entry.timeout_s:g} s"
        raise ToolFailure(detail, code="timeout", retryable=True, may_have_run=progress.is_sent) from error
    except timeouts.GivenUp:
        raise
    except Exception as error:
        raise _to_failure(tool, error, progress) from error


def _run(tool: Tool, server: McpTool, call: ToolCall, progress: _Progress) -> ToolResult:
    limit = tool.entry.timeout_s
    key = server.model_dump_json(exclude={"tool"})
    connection = connection_pool.take(call.replay, key, lambda: Connection(server, call.replay, limit))
    try:
        if not connection.alive():
            connection.close()
            connection = Connection(server, call.replay, limit)
        progress.is_sent = True
        result = connection.wait(_call(connection.client, server.tool or tool.name, call), limit, call.is_cancelled)
    except BaseException:
        connection.close()
        raise
    connection_pool.leave(call.replay, key, connection)
    return result


async def _call(client: mcp.Client, name: str, call: ToolCall) -> ToolResult:
    arguments = as_object(call.arguments)
    # The protocol leaves `_meta` open, its type does not.
    meta: Any = {META: call.replay}
    try:
        answer = await client.call_tool(name, arguments, meta=meta)
    except mcp.MCPError as error:
        if error.error.code == mcp.types.CONNECTION_CLOSED:
            raise
        return ToolResult(output={"error": str(error)}, status=StepStatus.ERROR)
    return ToolResult(output=_output(answer), status=StepStatus.ERROR if answer.is_error else StepStatus.OK)


class Connection:
    """A connection with its event loop in a separate thread, since only the SDK is asynchronous."""

    def __init__(self, server: McpTool, replay: str, limit_s: float) -> None:
        self._server, self._replay = server, replay
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._connecting: asyncio.Task[None] | None = None
        self._ready: Future[mcp.Client] = Future()
        self._end = threading.Event()
        self._is_used = False
        threading.Thread(target=self._live, name="forkpoint-mcp", daemon=True).start()
        try:
            self.client = self._ready.result(limit_s)
        except BaseException:
            self.close()
            raise

    def alive(self) -> bool:
        """True if the server still answers; checked before each call but the first, so that no call is lost."""
        if not self._is_used:
            self._is_used = True
            return True
        try:
            self.wait(_probe(self.client), _PROBE_S)
        except Exception:  # noqa: BLE001
            # Any error: a new connection reports what is wrong.
            return False
        return True

    def wait(
        self, work: Coroutine[Any, Any, _Result], limit_s: float, is_cancelled: Callable[[], bool] = lambda: False
    ) -> _Result:
        """Return the result of `work`; raises `TimeoutError`, and `GivenUp` if cancelled."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return timeouts.await_future(future, limit_s, is_cancelled=is_cancelled)
        finally:
            future.cancel()

    def close(self) -> None:
        """Close the connection, and end the server's process if one was started."""
        if not self._end.is_set():
            self._loop.call_soon_threadsafe(self._leave)
            self._end.wait(_CLOSE_S)

    def _leave(self) -> None:
        self._stop.set()
        if self._connecting is not None:
            self._connecting.cancel()

    def _live(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001
            # Raised on connect, or noticed by the next call.
            if not self._ready.done():
                self._ready.set_exception(error)
        finally:
            self._end.set()

    async def _serve(self) -> None:
        """Connect and stay connected until the end, so that one task enters and leaves the contexts."""
        if self._stop.is_set():
            return
        self._connecting = asyncio.current_task()
        async with _transport(self._server, self._replay) as transport, mcp.Client(transport) as client:
            self._connecting = None
            self._ready.set_result(client)
            await self._stop.wait()


async def _probe(client: mcp.Client) -> None:
    """Send a request that every server answers; the new protocol has no ping."""
    try:
        await client.list_tools(cache_mode="refresh")
    except mcp.MCPError as error:
        if error.error.code == mcp.types.CONNECTION_CLOSED:
            raise


@asynccontextmanager
async def _transport(server: McpTool, replay: str) -> AsyncIterator[Any]:
    """Open the SDK's transport; over HTTP it reaches only the configured host."""
    if server.url is not None:
        headers = {**secrets(server.headers_env), HEADER: replay}
        destination = egress.Destination(host=server.url.host or "", operator=True)
        async with egress.async_client([destination], connect_s=CONNECT_S, headers=headers) as http:
            yield streamable_http_client(str(server.url), http_client=http)
        return
    environment = {**secrets(server.env), VARIABLE: replay}
    parameters = mcp.StdioServerParameters(command=server.command or "", args=server.args, env=environment)
    with Path(os.devnull).open("w") as null_device:  # its log may contain payloads
        yield stdio_client(parameters, errlog=null_device)


def _to_failure(tool: Tool, error: BaseException, progress: _Progress) -> ToolFailure:
    """Convert an error, which the SDK's task groups may wrap."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ToolFailure):
        return error
    if isinstance(error, egress.EgressRefusal):
        return ToolFailure(str(error), code="egress_refused", retryable=False, may_have_run=False)
    if isinstance(error, FileNotFoundError | PermissionError):
        detail = f"the command of {tool.name} cannot be run: {error.strerror}"
        return ToolFailure(detail, code="tool_unavailable", retryable=False, may_have_run=False)
    detail = f"the MCP server of {tool.name} failed: {type(error).__name__}: {error}"
    return ToolFailure(detail, code="network", retryable=True, may_have_run=progress.is_sent)


def _output(answer: Any) -> JSONValue:
    """Convert content: a single text to text or JSON, anything else to a list of content blocks."""
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in answer.content]
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return _parse(blocks[0]["text"])
    if not blocks and answer.structured_content is not None:
        content: JSONValue = answer.structured_content
        return content
    return blocks


def _parse(text: str) -> JSONValue:
    """Parse JSON objects and lists; any other text, such as a number, remains text."""
    try:
        value: JSONValue = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text
