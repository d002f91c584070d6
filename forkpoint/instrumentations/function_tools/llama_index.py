"""LlamaIndex: its function tools."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import record_calls
from forkpoint.recorder import recorder

# Its own functions, which change the agent or read an answer: a handoff, the class of a structured output.
_OWN_MODULES: Final = ("llama_index.core.agent.", "llama_index.core.program.")


def patch_tools(module: ModuleType) -> None:
    for name in ("call", "acall"):
        wrap(module.FunctionTool, name, _record)
    declare_after(module.FunctionTool, "__init__", lambda _, tool, *__, **___: [tool.metadata.get_name()])


def _record(call: Callable[..., Any]) -> Any:
    return record_calls(call, _describe, lambda result: result.raw_output, _answer, _rearrange)


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool, *values = args
    names = tool.metadata.get_parameters_dict().get("properties", {})
    arguments = {**dict(zip(names, values, strict=False)), **kwargs}
    # The context, which the framework injects.
    arguments.pop(tool.ctx_param_name, None)
    step = recorder.tool(tool.metadata.get_name(), arguments)
    step.is_pure = str(getattr(tool.real_fn, "__module__", "")).startswith(_OWN_MODULES)
    return step


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Call a copy of the tool whose function returns the recorded output, of which the framework makes its own."""
    tool = copy.copy(args[0])

    async def result(*_: Any, **__: Any) -> Any:
        return answer.result(tool.real_fn)

    tool._fn, tool._async_fn = (lambda *_, **__: answer.result(tool.real_fn)), result
    return call(tool, *args[1:], **kwargs)


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    tool = args[0]
    require_properties(new, tool.metadata.get_parameters_dict())
    context = {name: value for name, value in kwargs.items() if name == tool.ctx_param_name}
    return (tool,), {**context, **new}
