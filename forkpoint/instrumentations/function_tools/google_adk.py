"""Google's Agent Development Kit: its function tools, and its agents as tools."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import record_calls
from forkpoint.recorder import recorder

_STATE: Final = "state/"
_ACTIONS: Final = "actions/"
# Its own functions that only change which agent works.
_OWN_MODULES: Final = ("google.adk.tools.transfer_to_agent_tool", "google.adk.tools.exit_loop_tool")


def patch_tools(module: ModuleType) -> None:
    wrap(
        module.FunctionTool,
        "run_async",
        lambda call: record_calls(call, _describe, substitute=_answer, rearrange=_rearrange),
    )
    declare_after(module.FunctionTool, "__init__", lambda _, tool, *__, **___: [tool.name])


def patch_agent_tools(module: ModuleType) -> None:
    wrap(module.AgentTool, "run_async", lambda call: record_calls(call, _describe_agent))
    declare_after(module.AgentTool, "__init__", lambda _, tool, *__, **___: [tool.name])


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool = args[0]
    step = recorder.tool(tool.name, dict(kwargs["args"]), call_id=_call_id(kwargs["tool_context"]))
    step.is_pure = getattr(tool.func, "__module__", "") in _OWN_MODULES
    step.state = _ContextState(kwargs["tool_context"])
    return step


def _describe_agent(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the step of an agent that works as a tool: its own calls ask for themselves."""
    step = recorder.tool(args[0].name, dict(kwargs["args"]), call_id=_call_id(kwargs["tool_context"]))
    step.is_pure = True
    return step


class _ContextState:
    """The session's state and the actions of a function, which it changes through its context."""

    def __init__(self, context: Any) -> None:
        # Each call has its own; ADK merges what they changed.
        self.owner = context

    def read(self) -> dict[str, Any]:
        state = {f"{_STATE}{name}": value for name, value in self.owner.state.to_dict().items()}
        actions = vars(self.owner.actions).items()
        # The state's changes are the entries of the state.
        return {**state, **{f"{_ACTIONS}{name}": value for name, value in actions if name != "state_delta"}}

    def write(self, name: str, value: Any) -> None:
        if name.startswith(_STATE):
            self.owner.state[name.removeprefix(_STATE)] = value
        else:
            setattr(self.owner.actions, name.removeprefix(_ACTIONS), value)

    def remove(self, name: str) -> None:
        """Remove nothing: functions cannot either."""


def _call_id(context: Any) -> str:
    """Return the id that the model gave a call; none if the framework made it, because the model gave none."""
    id = str(context.function_call_id or "")
    return "" if id.startswith("adk-") else id


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Call a copy of the tool whose function returns the recorded output: confirmations are asked for again."""
    tool = copy.copy(args[0])
    tool.func = _with_result(answer, args[0].func)
    return call(tool, **kwargs)


def _with_result(answer: Answer, function: Callable[..., Any]) -> Callable[..., Any]:
    async def result(**_: Any) -> Any:
        return answer.result(function)

    return result


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    tool = args[0]
    names = [name for name in tool._spec.signature.parameters if name not in tool._ignore_params]
    require_properties(new, {"properties": names})
    return args, {**kwargs, "args": new}
