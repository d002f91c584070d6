"""pydantic-ai: its agents and tools. Model calls are recorded by the clients below."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

from forkpoint.capture.patching import wrap
from forkpoint.capture.steps import record_calls, step_around
from forkpoint.recorder import recorder


def patch_tools(module: ModuleType) -> None:
    wrap(module.ToolManager, "execute_tool_call", lambda call: record_calls(call, _describe_tool))


def _describe_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    call = (args[1] if len(args) > 1 else kwargs["validated"]).call
    return recorder.tool(call.tool_name, call.args_as_dict(), call_id=call.tool_call_id)


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
