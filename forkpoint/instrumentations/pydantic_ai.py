"""pydantic-ai: its agents and tools. Model calls are recorded by the clients below."""

import copy
import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, WrongArguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import put_argument, record_calls, step_around
from forkpoint.outputs.effects import ObjectState
from forkpoint.recorder import recorder

# What the library makes of an error of a tool: the message for the model.
_MESSAGES: Final = frozenset({"ToolRetryError", "ToolFailedError"})


def patch_tools(module: ModuleType) -> None:
    wrap(
        module.ToolManager,
        "execute_tool_call",
        lambda call: record_calls(call, _describe_tool, substitute=_answer, rearrange=_rearrange),
    )
    if hasattr(module.ToolManager, "execute_output_tool_call"):
        wrap(module.ToolManager, "execute_output_tool_call", lambda call: record_calls(call, _describe_output))
    declare_after(module.ToolManager, "for_run_step", lambda manager, *_, **__: _asking_tools(manager))


def _asking_tools(manager: Any) -> list[str]:
    """Return the tools that the library itself runs; none of an output tool with a function of the user."""
    return [
        name
        for name, tool in (manager.tools or {}).items()
        if tool.tool_def.kind in {"function", "unapproved"}
        or (tool.tool_def.kind == "output" and not _has_output_function(tool, name))
    ]


def _has_output_function(tool: Any, name: str) -> bool:
    return tool.toolset.processors[name]._function_schema is not None


def _describe_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    validation = _validation(args, kwargs)
    call = validation.call
    step = recorder.tool(call.tool_name, call.args_as_dict(), call_id=call.tool_call_id)
    # Without valid arguments the tool does not run: the library says so to the model, or asks a person.
    step.is_pure = not validation.args_valid or getattr(validation, "deferral", None) is not None
    step.own_error = _own_error
    dependencies = getattr(validation.ctx, "deps", None)
    step.state = None if dependencies is None else ObjectState(dependencies)
    return step


def _own_error(error: BaseException) -> BaseException:
    """Return the error that the tool raised, of which the library made a message for the model."""
    cause = error.__cause__
    return error if cause is None or type(error).__name__ not in _MESSAGES else cause


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Let the library call a tool with the recorded outcome: it counts the call, and makes a message of an error.

    Its hooks have had their effect on the recorded outcome.
    """
    manager = copy.copy(args[0])
    manager.toolset, manager.root_capability = _RecordedTools(answer), None
    return call(manager, *args[1:], **kwargs)


class _RecordedTools:
    """A set of tools in which each call has the recorded outcome."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def call_tool(self, *_: Any) -> Any:
        return self._answer.result()


def _describe_output(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the step of an output tool, which only reads the model's answer.

    One with a function of the user is none: nothing intercepts what the function does.
    """
    validation = _validation(args, kwargs)
    call = validation.call
    if _has_output_function(validation.tool, call.tool_name):
        return None
    step = recorder.tool(call.tool_name, call.args_as_dict(), call_id=call.tool_call_id)
    step.is_pure = True
    return step


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    """Validate the arguments as those of the model were. The model's own request stays in its messages."""
    validation = _validation(args, kwargs)
    if validation.tool is None:
        raise WrongArguments("the agent has no such tool")
    require_properties(new, validation.tool.tool_def.parameters_json_schema)
    try:
        values = validation.tool.args_validator.validate_python(new, context=validation.ctx.validation_context)
    except importlib.import_module("pydantic_core").ValidationError as error:
        problems = (f"“{'.'.join(map(str, item['loc']))}”: {item['msg']}" for item in error.errors())
        raise WrongArguments("; ".join(problems)) from error
    call = replace(validation.call, args=new)
    validation = replace(validation, call=call, validated_args=values, args_valid=True, validation_error=None)
    return put_argument(args, kwargs, 1, "validated", validation)


def _validation(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else kwargs["validated"]


def patch_agents(module: ModuleType) -> None:
    wrap(module.Agent, "iter", _record_agent)


def _record_agent(iterate: Callable[..., Any]) -> Callable[..., Any]:
    @asynccontextmanager
    async def wrapper(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        prompt = args[0] if args else kwargs.get("user_prompt")
        with step_around(recorder.agent(self.name or "agent", input=prompt)) as step:
            async with iterate(self, *args, **kwargs) as run:
                yield run
                with recorder.suppress_errors():
                    step.output = run.result.output if run.result is not None else None

    return wrapper
