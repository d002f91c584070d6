"""Tools that are Python callables of installed packages, run in a child process that can be killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import IO, Any, Final

from replay.live import timeouts
from replay.live.tools import connection_pool
from replay.live.tools.configuration import callables
from replay.live.tools.types import Tool, ToolCall, ToolFailure, ToolResult
from traces.core.json_access import as_object
from traces.core.vocabulary import StepStatus

_CHILD: Final = Path(__file__).with_name("child_process.py")
_CLOSE_S: Final = 2.0


def run(tool: Tool, name: str, call: ToolCall) -> ToolResult:
    """Call the tool with keyword arguments; an exception of the tool is an answer for the agent."""
    process = connection_pool.take(call.replay, f"python {name}", lambda: Process(tool, callables()[name], call.replay))
    try:
        answer = process.ask(dict(as_object(call.arguments)), call.is_cancelled)
    except BaseException:
        process.kill()
        raise
    connection_pool.leave(call.replay, f"python {name}", process)
    if "error" in answer:
        return ToolResult(output={"error": answer["error"]}, status=StepStatus.ERROR)
    return ToolResult(output=answer["output"])


class Process:
    """The process of one callable; the calls of one replay run one after another."""

    def __init__(self, tool: Tool, point: EntryPoint, replay: str) -> None:
        self.tool = tool
        # Set while a thread still reads: that thread closes the stream, because closing it here would block.
        self._is_abandoned = False
        # -P: the script's folder contains modules with names of the standard library.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            answer = self._exchange({"callable": point.value, "path": sys.path, "replay": replay}, may_have_run=False)
            if "cannot" in answer:
                detail = f"{point.name} cannot be loaded: {answer['cannot']}"
                raise ToolFailure(detail, code="tool_unavailable", retryable=False, may_have_run=False)
        except BaseException:
            self.kill()
            raise

    def ask(self, arguments: dict[str, Any], is_cancelled: Callable[[], bool]) -> dict[str, Any]:
        return self._exchange(arguments, may_have_run=True, is_cancelled=is_cancelled)

    def close(self) -> None:
        """Let the process end by itself, and kill it if it does not."""
        self._close_stream(self._process.stdin)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_S)
        self.kill()

    def kill(self) -> None:
        """Kill the process group."""
        # All of them have ended.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._close_stream(self._process.stdin)
        if not self._is_abandoned:
            self._close_stream(self._process.stdout)

    def _close_stream(self, stream: IO[str] | None) -> None:
        if stream is not None:
            # Unread input.
            with suppress(BrokenPipeError):
                stream.close()

    def _read(self) -> str:
        if self._process.stdout is None:
            raise AssertionError("it is a pipe")
        line = self._process.stdout.readline()
        if self._is_abandoned:
            self._process.stdout.close()
        return line

    def _exchange(
        self, value: dict[str, Any], *, may_have_run: bool, is_cancelled: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        if self._process.stdin is None:
            raise AssertionError("it is a pipe")
        limit = self.tool.entry.timeout_s
        try:
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()
            line = timeouts.run_with_timeout(limit, self._read, is_cancelled=is_cancelled)
        except timeouts.GivenUp:
            self._is_abandoned = True
            raise
        except TimeoutError as error:
            self._is_abandoned = True
            detail = f"{self.tool.name} did not answer in {limit:g} s and was killed"
            raise ToolFailure(detail, code="timeout", retryable=True, may_have_run=may_have_run) from error
        except BrokenPipeError:
            line = ""
        if not line:
            detail = f"the process of {self.tool.name} ended without an answer"
            raise ToolFailure(detail, code="tool_died", retryable=True, may_have_run=may_have_run)
        answer: dict[str, Any] = json.loads(line)
        return answer
