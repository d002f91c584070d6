"""Haystack: its tools."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import interception, record_function
from forkpoint.recorder import recorder


def patch_tools(module: ModuleType) -> None:
    for name in ("invoke", "invoke_async"):
        if hasattr(module.Tool, name):
            wrap(module.Tool, name, _record)
    declare_after(module.Tool, "__post_init__", lambda _, tool: [tool.name])


def _record(invoke: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, **kwargs: Any) -> Any:
        tool = self
        with interception():
            # The others come from the agent's state.
            names = self.parameters.get("properties", {})
            arguments = {name: value for name, value in kwargs.items() if name in names}
            tool = copy.copy(self)
            for field in ("function", "async_function"):
                if (function := getattr(self, field, None)) is not None:
                    setattr(tool, field, record_function(function, lambda: recorder.tool(self.name, arguments)))
        return invoke(tool, **kwargs)

    return wrapper
