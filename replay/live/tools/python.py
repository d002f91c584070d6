"""Tools that are Python callables of installed packages, run in a process of their own that can be ended in time."""

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
from traces.core.vocabulary import StepStatus

_CHILD: Final = Path(__file__).with_name("child_process.py")
_CLOSE_S: Final = 2.0


def run(tool: Tool, name: str, call: ToolCall) -> ToolResult:
    """Call it with the arguments as keywords; an exception of its own is its answer, as the agent would see it."""
    process = connection_pool.take(call.replay, f"python {name}", lambda: Process(tool, callables()[name], call.replay))
    try:
        answer = process.ask(dict(call.arguments) if isinstance(call.arguments, dict) else {}, call.is_cancelled)
    except BaseException:
        process.kill()
        raise
    connection_pool.leave(call.replay, f"python {name}", process)
    if "error" in answer:
        return ToolResult(output={"error": answer["error"]}, status=StepStatus.ERROR)
    return ToolResult(output=answer["output"])


class Process:
    """The process of one callable; its calls in one replay come one after the other."""

    def __init__(self, tool: Tool, point: EntryPoint, replay: str) -> None:
        self.tool = tool
        self._abandoned = False  # a thread still reads: it closes what it reads from, because closing would wait for it
        # -P: the folder of the script holds modules named as some of the standard library.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            loaded = self._asked({"callable": point.value, "path": sys.path, "replay": replay}, may_have_run=False)
            if "cannot" in loaded:
                detail = f"{point.name} cannot be loaded: {loaded['cannot']}"
                raise ToolFailure(detail, code="tool_unavailable", retryable=False, may_have_run=False)
        except BaseException:
            self.kill()
            raise

    def ask(self, arguments: dict[str, Any], is_cancelled: Callable[[], bool]) -> dict[str, Any]:
        return self._asked(arguments, may_have_run=True, is_cancelled=is_cancelled)

    def close(self) -> None:
        """Let it end by itself, for it has answered; then see to it."""
        self._shut(self._process.stdin)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_S)
        self.kill()

    def kill(self) -> None:
        """End it, and whatever it started."""
        with suppress(ProcessLookupError):  # all of them have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._shut(self._process.stdin)
        if not self._abandoned:
            self._shut(self._process.stdout)

    def _shut(self, stream: IO[str] | None) -> None:
        if stream is not None:
            with suppress(BrokenPipeError):  # of what it did not read any more
                stream.close()

    def _read(self) -> str:
        if self._process.stdout is None:
            raise AssertionError("it is a pipe")
        line = self._process.stdout.readline()
        if self._abandoned:
            self._process.stdout.close()
        return line

    def _asked(
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
            self._abandoned = True
            raise
        except TimeoutError as error:
            self._abandoned = True
            detail = f"{self.tool.name} did not answer in {limit:g} s and was ended"
            raise ToolFailure(detail, code="timeout", retryable=True, may_have_run=may_have_run) from error
        except BrokenPipeError:
            line = ""
        if not line:
            detail = f"the process of {self.tool.name} ended without an answer"
            raise ToolFailure(detail, code="tool_died", retryable=True, may_have_run=may_have_run)
        answer: dict[str, Any] = json.loads(line)
        return answer
