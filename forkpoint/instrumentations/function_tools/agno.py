"""Agno: its functions."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import interception, record_function
from forkpoint.kinds import ToolStep
from forkpoint.outputs.effects import ObjectState
from forkpoint.recorder import recorder

# Its own functions that let another agent of a team work.
_OWN_MODULE: Final = "agno.team."


def patch_tools(module: ModuleType) -> None:
    for name in ("execute", "aexecute"):
        wrap(module.FunctionCall, name, _record)
    # A model is told of a function by this.
    declare_after(module.Function, "to_dict", lambda _, function: [function.name])


def _record(execute: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any) -> Any:
        original = self.function
        with interception():
            if original.entrypoint is not None:
                self.function = copy.copy(original)
                self.function.entrypoint = record_function(original.entrypoint, lambda: _describe(self, original))
        return execute(self)

    return wrapper


def _describe(call: Any, function: Any) -> ToolStep:
    step = recorder.tool(function.name, dict(call.arguments or {}), call_id=call.call_id or "")
    step.is_pure = str(getattr(function.entrypoint, "__module__", "")).startswith(_OWN_MODULE)
    entries = getattr(getattr(function, "_run_context", None), "session_state", None)
    step.state = None if entries is None else ObjectState(entries)
    return step
