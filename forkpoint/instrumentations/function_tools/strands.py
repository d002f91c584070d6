"""Strands Agents: its function tools. Those of MCP servers are recorded by the MCP client."""

import copy
from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import step_around
from forkpoint.decorators import answer_of
from forkpoint.kinds import ToolStep
from forkpoint.recorder import recorder


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
        with step_around(step):
            answer = await answer_of(step)
            if answer is None:
                (tool_use,), _ = step.arrange(_rearranger(self), (tool_use,), {})
            tool = self if answer is None else _answering_copy(self, answer)
            async for event in stream(tool, tool_use, invocation_state, **kwargs):
                with recorder.suppress_errors():
                    _read(step, event)
                yield event

    return wrapper


def _answering_copy(tool: Any, answer: Answer) -> Any:
    """Return a copy of a tool whose function returns the recorded output, or raises the recorded error."""

    async def result(*_: Any, **__: Any) -> Any:
        return answer.result()

    tool = copy.copy(tool)
    tool._tool_func = result
    return tool


def _read(step: ToolStep, event: Any) -> None:
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
