"""Semantic Kernel: functions of its plugins."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import record_calls
from forkpoint.recorder import recorder

# Parameters that the kernel injects by their names.
_KERNEL_PARAMETERS: Final = frozenset({"kernel", "service", "execution_settings", "arguments"})


def patch_functions(module: ModuleType) -> None:
    wrap(module.KernelFunctionFromMethod, "_invoke_internal", _record)


def declare_functions(module: ModuleType) -> None:
    """Declare each function of which a model is told."""
    for api in ("function", "response_function"):
        name = f"kernel_function_metadata_to_{api}_call_format"
        declare_after(module, name, lambda _, metadata: [metadata.fully_qualified_name])


def _record(invoke: Callable[..., Any]) -> Any:
    async def invoke_and_read(self: Any, context: Any) -> Any:
        await invoke(self, context)
        return context.result.value

    return record_calls(invoke_and_read, _describe, substitute=_answer, rearrange=_rearrange)


def _parameters(function: Any) -> list[str]:
    return [
        item.name
        for item in function.parameters
        if item.name not in _KERNEL_PARAMETERS and item.include_in_function_choices
    ]


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    function, context = args
    values = {name: context.arguments[name] for name in _parameters(function) if name in context.arguments}
    return recorder.tool(function.metadata.fully_qualified_name, values)


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Invoke a copy of the function that returns the recorded output."""
    function = copy.copy(args[0])
    function.method = lambda **_: answer.result(args[0].method)
    return call(function, *args[1:], **kwargs)


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    function, context = args
    require_properties(new, {"properties": _parameters(function)})
    for name in old.keys() - new.keys():
        context.arguments.pop(name, None)
    context.arguments.update(new)
    return args, kwargs
