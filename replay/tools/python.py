"""Tools that are Python callables of installed packages."""

import inspect

from replay.tools.configuration import callables
from replay.tools.types import ToolCall, ToolFailed, ToolResult
from traces.vocabulary import StepStatus

MARK = "forkpoint_replay"


def run(name: str, call: ToolCall) -> ToolResult:
    """Call it with the arguments as keywords; an exception of its own is its answer, as the agent would see it."""
    try:
        function = callables()[name].load()
    except Exception as error:
        # Importing a package can fail in any way; it has not run.
        detail = f"{name} cannot be loaded: {type(error).__name__}: {error}"
        raise ToolFailed(detail, code="tool_unavailable", retryable=False, may_have_run=False) from error
    arguments = dict(call.arguments) if isinstance(call.arguments, dict) else {}
    if MARK in inspect.signature(function).parameters:
        arguments[MARK] = call.replay
    try:
        return ToolResult(output=function(**arguments))
    except Exception as error:  # noqa: BLE001  # the tool's own, of any kind; it becomes the step's answer
        return ToolResult(output={"error": f"{type(error).__name__}: {error}"}, status=StepStatus.ERROR)
