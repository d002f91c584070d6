"""DSPy: its tools."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import record_calls
from forkpoint.recorder import recorder

# Its own functions that only end an agent.
_OWN_MODULE: Final = "dspy.predict."


def patch_tools(module: ModuleType) -> None:
    for name in ("__call__", "acall"):
        wrap(module.Tool, name, lambda call: record_calls(call, _describe, substitute=_answer, rearrange=_rearrange))
    declare_after(module.Tool, "__init__", lambda _, tool, *__, **___: [tool.name])


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool = args[0]
    step = recorder.tool(tool.name, dict(kwargs))
    step.is_pure = str(getattr(tool.func, "__module__", "")).startswith(_OWN_MODULE)
    return step


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Call a copy of the tool whose function returns the recorded output."""
    tool = args[0]
    return call(tool.model_copy(update={"func": lambda **_: answer.result(tool.func)}), **kwargs)


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    tool = args[0]
    require_properties(new, {"properties": tool.args, "additionalProperties": tool.has_kwargs})
    return args, new
