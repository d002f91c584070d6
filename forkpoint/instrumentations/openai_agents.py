"""OpenAI's Agents SDK: its agents by a trace processor, and its tools. Model calls are recorded by the client below."""

import copy
import functools
import importlib
import inspect
import json
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.places import find_place
from forkpoint.capture.steps import record_calls
from forkpoint.outputs.effects import ObjectState
from forkpoint.recorder import recorder
from forkpoint.scopes import Scope

# Spans that contain other steps. Model calls and tools are recorded where they are made.
_CONTAINERS = frozenset({"agent", "guardrail", "handoff", "custom"})


def patch_tools(module: ModuleType) -> None:
    name = "_invoke_function_tool_with_metadata"
    wrap(module, name, lambda call: record_calls(call, _describe_tool, _read_output, _answer_tool, _rearrange))


def declare_tools(module: ModuleType) -> None:
    declare_after(module.FunctionTool, "__post_init__", lambda _, tool: [tool.name])


def declare_handoffs(module: ModuleType) -> None:
    """Declare the handoffs that only change the agent."""
    declare_after(
        module.Handoff,
        "__init__",
        lambda _, handoff, *__, **___: [handoff.tool_name] if _is_plain(handoff.on_invoke_handoff) else [],
    )


def _describe_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    arguments = kwargs["arguments"]
    # If the model's text is no JSON, the tool gets it as it is.
    with suppress(ValueError):
        arguments = json.loads(arguments or "{}")
    step = recorder.tool(kwargs["function_tool"].name, arguments, call_id=kwargs["context"].tool_call_id)
    context = getattr(kwargs["context"], "context", None)
    step.state = None if context is None else ObjectState(context)
    return step


def _read_output(result: Any) -> Any:
    return result.output


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    require_properties(new, kwargs["function_tool"].params_json_schema)
    return args, {**kwargs, "arguments": json.dumps(new)}


def _answer_tool(invoke: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Invoke a copy of the tool that returns the recorded output."""
    tool = copy.copy(kwargs["function_tool"])

    async def result(*_: Any) -> Any:
        return answer.result()

    tool.on_invoke_tool = result
    return invoke(*args, **{**kwargs, "function_tool": tool})


def patch_tracing(module: ModuleType) -> None:
    interface = importlib.import_module("agents.tracing.processor_interface")
    interface.TracingProcessor.register(_Processor)
    module.add_trace_processor(_Processor())


def patch_handoffs(module: ModuleType) -> None:
    wrap(module, "execute_handoffs", lambda call: record_calls(call, _describe_handoff, _read_transfer))


def _describe_handoff(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the step of a handoff that only changes the agent; none if a function of the user runs in it."""
    handoff, call = kwargs["run_handoffs"][0].handoff, kwargs["run_handoffs"][0].tool_call
    if not _is_plain(handoff.on_invoke_handoff):
        return None
    step = recorder.tool(handoff.tool_name, json.loads(call.arguments or "{}"), call_id=call.call_id)
    step.is_pure = True
    return step


def _is_plain(invoke: Any) -> bool:
    """Return whether the library itself made the function of a handoff, without a function of the user in it."""
    function = invoke.args[0] if isinstance(invoke, functools.partial) and invoke.args else invoke
    if getattr(function, "__module__", "") != "agents.handoffs":
        return False
    variables = inspect.getclosurevars(function).nonlocals
    return "on_handoff" in variables and variables["on_handoff"] is None


def _read_transfer(result: Any) -> Any:
    """Return what the model reads as the result of a handoff."""
    return next(
        item.raw_item["output"] for item in reversed(result.new_step_items) if item.type == "handoff_output_item"
    )


class _Processor:
    """Records traces as runs and spans as steps. A trace inside an open run belongs to that run."""

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}

    def on_trace_start(self, trace: Any) -> None:
        with recorder.suppress_errors():
            if (run := find_place(trace.name).own_run) is not None:
                self._scopes[trace.trace_id] = run
                recorder.current.set(run)

    def on_trace_end(self, trace: Any) -> None:
        with recorder.suppress_errors():
            if (run := self._scopes.pop(trace.trace_id, None)) is not None:
                run.end()

    def on_span_start(self, span: Any) -> None:
        with recorder.suppress_errors():
            data = span.span_data
            if data.type in _CONTAINERS:
                kind = "agent" if data.type == "agent" else data.type
                step = recorder.step(kind, getattr(data, "name", "") or data.type)
                self._scopes[span.span_id] = step.begin()
                # The context of the span's task; what it starts finds the step there, and nothing does once it ended.
                recorder.current.set(step)

    def on_span_end(self, span: Any) -> None:
        with recorder.suppress_errors():
            if (step := self._scopes.pop(span.span_id, None)) is not None:
                if span.error:
                    step.fail(str(span.error.get("message") or span.error))
                step.end()

    def shutdown(self) -> None:
        """Do nothing: the recorder sends what is left when the program ends."""

    def force_flush(self) -> None:
        recorder.flush()
