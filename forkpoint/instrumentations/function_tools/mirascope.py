"""Mirascope: its tools."""

import copy
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import interception, record_function
from forkpoint.recorder import recorder

_CLASSES: Final = ("Tool", "AsyncTool", "ContextTool", "AsyncContextTool")


def patch_tools(module: ModuleType) -> None:
    for name in _CLASSES:
        wrap(getattr(module, name), "execute", _record)
    declare_after(module.ToolSchema, "__init__", lambda _, tool, *__, **___: [tool.name])


def _record(execute: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        tool = self
        with interception():
            # A context may come before the call.
            call = kwargs.get("tool_call") or args[-1]
            tool = copy.copy(self)
            tool.fn = record_function(
                self.fn, lambda: recorder.tool(self.name, json.loads(call.args or "{}"), call_id=call.id)
            )
        return execute(tool, *args, **kwargs)

    return wrapper
