"""Strands Agents: its function tools. Those of MCP servers are recorded by the MCP client."""

import copy
import importlib
from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import step_around
from forkpoint.decorators import answer_of
from forkpoint.kinds import ToolStep
from forkpoint.recorder import recorder

_INTERRUPT: Final = "InterruptException"


def patch_tools(module: ModuleType) -> None:
    _patch(module.DecoratedFunctionTool)


def patch_module_tools(module: ModuleType) -> None:
    _patch(module.PythonAgentTool)


def _patch(tool_class: Any) -> None:
    wrap(tool_class, "stream", _record)
    declare_after(tool_class, "__init__", lambda _, tool, *__, **___: [tool.tool_name])


def patch_outputs(module: ModuleType) -> None:
    """Record the tool by which a model gives a structured output: it only reads the answer."""
    wrap(module.StructuredOutputTool, "stream", lambda stream: _record(stream, is_pure=True))
    declare_after(module.StructuredOutputTool, "__init__", lambda _, tool, *__, **___: [tool.tool_name])


def patch_agent_tools(module: ModuleType) -> None:
    """Record agents that work as tools: their own calls ask for themselves."""
    wrap(module._AgentAsTool, "stream", lambda stream: _record(stream, is_pure=True))
    declare_after(module._AgentAsTool, "__init__", lambda _, tool, *__, **___: [tool.tool_name])


def _record(stream: Callable[..., Any], *, is_pure: bool = False) -> Callable[..., Any]:
    async def wrapper(self: Any, tool_use: Any, invocation_state: Any, **kwargs: Any) -> AsyncIterator[Any]:
        step = recorder.tool(self.tool_name, tool_use.get("input", {}), call_id=tool_use.get("toolUseId", ""))
        step.is_pure, step.is_intercepted = is_pure, True
        if (state := getattr((invocation_state or {}).get("agent"), "state", None)) is not None:
            step.state = _AgentState(state)
        with step_around(step):
            answer = await answer_of(step)
            if answer is None:
                (tool_use,), _ = step.arrange(_rearranger(self), (tool_use,), {})
            tool = self if answer is None else _answering_copy(self, answer, tool_use, invocation_state)
            async for event in stream(tool, tool_use, invocation_state, **kwargs):
                with recorder.suppress_errors():
                    _read(step, event)
                yield event

    return wrapper


class _AgentState:
    """The state of an agent, which functions change through their context."""

    def __init__(self, entries: Any) -> None:
        self.owner = entries

    def read(self) -> dict[str, Any]:
        entries: dict[str, Any] = self.owner.get()
        return entries

    def write(self, name: str, value: Any) -> None:
        self.owner.set(name, value)

    def remove(self, name: str) -> None:
        self.owner.delete(name)


def _answering_copy(tool: Any, answer: Answer, tool_use: Any, invocation_state: Any) -> Any:
    """Return a copy of a tool whose function returns the recorded output, or raises the recorded error.

    One that interrupted the agent does so again, by the library's own function.
    """

    async def result(*_: Any, **__: Any) -> Any:
        try:
            return answer.result()
        except Exception as error:
            if (interrupt := _interrupt_of(error)) is not None:
                kind = importlib.import_module("strands.types.tools").ToolContext
                context = kind(tool_use=tool_use, agent=invocation_state["agent"], invocation_state=invocation_state)
                context.interrupt(interrupt.name, reason=interrupt.reason)
            raise

    tool = copy.copy(tool)
    tool._tool_func = result
    return tool


def _interrupt_of(error: Exception) -> Any:
    """Return the question to a person for which a tool was left; None for other errors."""
    is_interrupt = _INTERRUPT in {kind.__name__ for kind in type(error).__mro__}
    return getattr(error, "interrupt", None) if is_interrupt else None


def _read(step: ToolStep, event: Any) -> None:
    for interrupt in getattr(event, "interrupts", None) or ():
        step.fail(importlib.import_module("strands.interrupt").InterruptException(interrupt))
    result = getattr(event, "tool_result", None)
    if result is None:
        return
    if (error := getattr(event, "exception", None)) is not None:
        step.fail(error)
    step.output = _text(result)


def _text(result: Any) -> Any:
    """Return the text of a result that consists of it alone, else the result without the id of its call."""
    match result:
        case {"status": "success", "content": [{"text": text, **others}]} if not others:
            return text
    return {name: value for name, value in result.items() if name != "toolUseId"}


def _rearranger(tool: Any) -> Any:
    def rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
        require_properties(new, tool.tool_spec["inputSchema"].get("json", {}))
        return ({**args[0], "input": new},), kwargs

    return rearrange
