"""Anthropic: functions that its tool runner calls."""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import put_argument, record_calls
from forkpoint.recorder import recorder


def patch_tools(module: ModuleType) -> None:
    wrap(module.BetaFunctionTool, "call", lambda call: _record(_exhaust(call)))
    wrap(module.BetaAsyncFunctionTool, "call", _record)
    declare_after(module.BaseFunctionTool, "__init__", lambda _, tool, *__, **___: [tool.name])


def _record(call: Callable[..., Any]) -> Any:
    return record_calls(call, _describe, substitute=_answer, rearrange=_rearrange)


def _exhaust(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call that runs a generator to its end: a recording of it could not be read twice."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        return list(result) if inspect.isgenerator(result) else result

    return wrapper


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return recorder.tool(args[0].name, args[1] if len(args) > 1 else kwargs["input"])


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    return answer.result(args[0].func)


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    require_properties(new, args[0].input_schema)
    return put_argument(args, kwargs, 1, "input", new)
