"""Microsoft Agent Framework: its function tools."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import record_calls
from forkpoint.recorder import recorder


def patch_tools(module: ModuleType) -> None:
    wrap(module.FunctionTool, "invoke", lambda call: record_calls(call, _describe, _read, _answer, _rearrange))
    declare_after(module.FunctionTool, "__init__", lambda _, tool, *__, **___: [tool.name])


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool, arguments = args[0], kwargs.get("arguments")
    if arguments is None:
        context = kwargs.get("context")
        arguments = context.arguments if context is not None else _direct_arguments(kwargs)
    if hasattr(arguments, "model_dump"):
        arguments = arguments.model_dump(exclude_unset=True)
    return recorder.tool(tool.name, dict(arguments or {}), call_id=kwargs.get("tool_call_id") or "")


def _direct_arguments(kwargs: dict[str, Any]) -> dict[str, Any]:
    own_names = {"arguments", "context", "tool_call_id", "skip_parsing"}
    return {name: value for name, value in kwargs.items() if name not in own_names}


def _read(result: Any) -> Any:
    """Return the text of contents that consist of one, else the contents."""
    match result:
        case [item] if getattr(item, "type", "") == "text":
            return item.text
        case [first, *_] if hasattr(first, "to_dict"):
            return [item.to_dict() for item in result]
    return result


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Return the recorded output as the framework's contents."""
    tool, output = args[0], answer.result()
    module = importlib.import_module("agent_framework._tools")
    if kwargs.get("skip_parsing") or tool.result_parser is getattr(module, "SKIP_PARSING", None) is not None:
        return output
    content = importlib.import_module("agent_framework").Content
    if isinstance(output, list) and output and all(isinstance(item, dict) and "type" in item for item in output):
        return [content.from_dict(item) for item in output]
    contents = module.FunctionTool.parse_result(output)
    return [content.from_text(contents)] if isinstance(contents, str) else contents


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    require_properties(new, args[0].parameters())
    settings = {name: value for name, value in kwargs.items() if name not in _direct_arguments(kwargs)}
    return args, {**settings, "arguments": new}
