"""Tools of MCP servers, on standard streams or over streamable HTTP; one connection serves the calls of a replay."""

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
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus

VARIABLE: Final = "FORKPOINT_REPLAY"
META: Final = "forkpoint_replay"
_CLOSE_S: Final = 5.0
_LOOK_S: Final = 5.0
_Result = TypeVar("_Result")


class _Sent:
    """Whether the call has gone out: what fails before has certainly not run."""

    yet = False


def run(tool: Tool, server: McpTool, call: ToolCall) -> ToolResult:
    """One call over the replay's connection to this server."""
    sent = _Sent()
    try:
        return _run(tool, server, call, sent)
    except TimeoutError as error:
        detail = f"{tool.name} did not answer in {tool.entry.timeout_s:g} s"
        raise ToolFailure(detail, code="timeout", retryable=True, may_have_run=sent.yet) from error
    except timeouts.GivenUp:
        raise
    except Exception as error:
        raise _failed(tool, error, sent) from error


def _run(tool: Tool, server: McpTool, call: ToolCall, sent: _Sent) -> ToolResult:
    limit = tool.entry.timeout_s
    key = server.model_dump_json(exclude={"tool"})
    connection = connection_pool.take(call.replay, key, lambda: Connection(server, call.replay, limit))
    try:
        if not connection.alive():
            connection.close()
            connection = Connection(server, call.replay, limit)
        sent.yet = True
        found = connection.wait(_call(connection.client, server.tool or tool.name, call), limit, call.is_cancelled)
    except BaseException:
        connection.close()
        raise
    connection_pool.leave(call.replay, key, connection)
    return found


async def _call(client: mcp.Client, name: str, call: ToolCall) -> ToolResult:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    meta: Any = {META: call.replay}  # the protocol leaves `_meta` open, its type does not
    try:
        found = await client.call_tool(name, arguments, meta=meta)
    except mcp.MCPError as error:
        if error.error.code == mcp.types.CONNECTION_CLOSED:
            raise
        return ToolResult(output={"error": str(error)}, status=StepStatus.ERROR)
    return ToolResult(output=_output(found), status=StepStatus.ERROR if found.is_error else StepStatus.OK)


class Connection:
    """A connection in an event loop of its own thread, because the SDK is asynchronous and the walk is not."""

    def __init__(self, server: McpTool, replay: str, limit_s: float) -> None:
        self._server, self._replay = server, replay
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._connecting: asyncio.Task[None] | None = None
        self._ready: Future[mcp.Client] = Future()
        self._ended = threading.Event()
        self._used = False
        threading.Thread(target=self._live, name="forkpoint-mcp", daemon=True).start()
        try:
            self.client = self._ready.result(limit_s)
        except BaseException:
            self.close()
            raise

    def alive(self) -> bool:
        """Whether the server still answers: one that left between two calls has not run the next."""
        if not self._used:
            self._used = True
            return True
        try:
            self.wait(_look(self.client), _LOOK_S)
        except Exception:  # noqa: BLE001  # of any kind: a new connection is made, and says what is wrong
            return False
        return True

    def wait(
        self, work: Coroutine[Any, Any, _Result], limit_s: float, is_cancelled: Callable[[], bool] = lambda: False
    ) -> _Result:
        """What the work returns; raises `TimeoutError`, and `GivenUp` where `is_cancelled` says so."""
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return timeouts.await_future(waiting, limit_s, is_cancelled=is_cancelled)
        finally:
            waiting.cancel()

    def close(self) -> None:
        """End the connection, and with it a command that was started."""
        if not self._ended.is_set():
            self._loop.call_soon_threadsafe(self._leave)
            self._ended.wait(_CLOSE_S)

    def _leave(self) -> None:
        self._stop.set()
        if self._connecting is not None:
            self._connecting.cancel()

    def _live(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # whoever connects gets it; afterwards the next call notices
            if not self._ready.done():
                self._ready.set_exception(error)
        finally:
            self._ended.set()

    async def _serve(self) -> None:
        """Connect, and stay until the end; what was entered in one task is left in the same."""
        if self._stop.is_set():
            return
        self._connecting = asyncio.current_task()
        async with _transport(self._server, self._replay) as transport, mcp.Client(transport) as client:
            self._connecting = None
            self._ready.set_result(client)
            await self._stop.wait()


async def _look(client: mcp.Client) -> None:
    """A question that every server answers, in the old protocol and in the new one, which has no ping."""
    try:
        await client.list_tools(cache_mode="refresh")
    except mcp.MCPError as error:
        if error.error.code == mcp.types.CONNECTION_CLOSED:
            raise


@asynccontextmanager
async def _transport(server: McpTool, replay: str) -> AsyncIterator[Any]:
    """What the SDK connects through; over HTTP it reaches the configured host and nothing else."""
    if server.url is not None:
        headers = {**secrets(server.headers_env), HEADER: replay}
        destination = egress.Destination(host=server.url.host or "", operator=True)
        async with egress.async_client([destination], connect_s=CONNECT_S, headers=headers) as http:
            yield streamable_http_client(str(server.url), http_client=http)
        return
    environment = {**secrets(server.env), VARIABLE: replay}
    given = mcp.StdioServerParameters(command=server.command or "", args=server.args, env=environment)
    with Path(os.devnull).open("w") as nowhere:  # its log may hold payloads
        yield stdio_client(given, errlog=nowhere)


def _failed(tool: Tool, error: BaseException, sent: _Sent) -> ToolFailure:
    """The SDK's task groups wrap what went wrong."""
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
    return ToolFailure(detail, code="network", retryable=True, may_have_run=sent.yet)


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
