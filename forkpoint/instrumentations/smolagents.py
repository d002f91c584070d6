"""smolagents: its agents and tools. Model calls are recorded by the clients below."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import wrap
from forkpoint.capture.steps import iterate, record_calls, step_around
from forkpoint.recorder import recorder

# How a tool is called, and none of its arguments.
_SANITIZE: Final = "sanitize_inputs_outputs"


def patch_tools(module: ModuleType) -> None:
    wrap(
        module.Tool,
        "__call__",
        lambda call: record_calls(call, _describe_tool, _read_output, _answer_tool, _rearrange),
    )


def _read_output(result: Any) -> Any:
    """Return the text in the object that smolagents makes of one."""
    return str(result) if isinstance(result, str) else result


def _answer_tool(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Call a copy of the tool that returns the recorded output, of which smolagents makes its own object."""
    tool = copy.copy(args[0])
    tool.forward = lambda *_, **__: answer.result()
    return call(tool, *args[1:], **kwargs)


def _describe_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool, *values = args
    arguments = {name: value for name, value in kwargs.items() if name != _SANITIZE}
    if len(values) == 1 and not arguments and isinstance(values[0], dict):
        arguments = values[0]
    else:
        arguments |= dict(zip(tool.inputs, values, strict=False))
    step = recorder.tool(tool.name, arguments)
    # It ends the agent with the model's own answer.
    step.is_pure = tool.name == "final_answer"
    return step


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    require_properties(new, {"properties": args[0].inputs})
    return args[:1], {**{name: value for name, value in kwargs.items() if name == _SANITIZE}, **new}


def patch_agents(module: ModuleType) -> None:
    wrap(module.MultiStepAgent, "run", _record_agent)


def _record_agent(run: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, task: str, *args: Any, **kwargs: Any) -> Any:
        recorder.declare_tools(self.tools)
        step = recorder.agent(self.name or type(self).__name__, input=task)
        if kwargs.get("stream") or (args and args[0]):
            return iterate(step, iter(run(self, task, *args, **kwargs)))
        with step_around(step):
            step.output = run(self, task, *args, **kwargs)
            return step.output

    return wrapper
