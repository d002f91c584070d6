"""CrewAI: its crews, agents and tools. Model calls are recorded by the clients below."""

import importlib
import json
from contextlib import suppress
from types import ModuleType
from typing import Any

from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import is_inside, put_argument, record_calls
from forkpoint.recorder import recorder


def patch_crews(module: ModuleType) -> None:
    for name in ("kickoff", "akickoff"):
        wrap(module.Crew, name, lambda call: record_calls(call, _describe_crew, _read_crew))


def _describe_crew(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    inputs = args[1] if len(args) > 1 else kwargs.get("inputs")
    return recorder.agent(args[0].name or "crew", input=inputs)


def _read_crew(result: Any) -> Any:
    return getattr(result, "raw", result)


def patch_agents(module: ModuleType) -> None:
    for name in ("execute_task", "aexecute_task"):
        wrap(module.Agent, name, lambda call: record_calls(call, _describe_task))


def _describe_task(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    task = args[1] if len(args) > 1 else kwargs["task"]
    return recorder.agent(args[0].role, input=task.description)


def patch_tools(module: ModuleType) -> None:
    for owner in (module.BaseTool, module.Tool):
        for name in ("run", "arun"):
            wrap(owner, name, lambda call: record_calls(call, _describe_tool, rearrange=_rearrange))
    declare_after(module.BaseTool, "__init__", lambda _, tool, *__, **___: [_model_name(tool)])


def _model_name(tool: Any) -> str:
    """Return the name by which the model knows a tool."""
    with suppress(ImportError, AttributeError):
        return str(importlib.import_module("crewai.utilities.string_utils").sanitize_tool_name(tool.name))
    return str(tool.name)


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    require_properties(new, args[0].args_schema.model_json_schema())
    return args[:1], new


def _describe_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool, *values = args
    arguments = {**dict(zip(tool.args_schema.model_fields, values, strict=False)), **kwargs}
    name = _model_name(tool)
    return None if is_inside("tool", name) else recorder.tool(name, arguments)


def patch_structured_tools(module: ModuleType) -> None:
    """Record the tools that a model requests in its text, because it has no tool calls."""
    for name in ("invoke", "ainvoke"):
        wrap(
            module.CrewStructuredTool,
            name,
            lambda call: record_calls(call, _describe_structured_tool, rearrange=_rearrange_structured_tool),
        )


def _describe_structured_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool = args[0]
    arguments = args[1] if len(args) > 1 else kwargs["input"]
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    name = _model_name(tool)
    return None if is_inside("tool", name) else recorder.tool(name, arguments)


def _rearrange_structured_tool(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    schema = args[0].args_schema
    require_properties(new, schema.model_json_schema() if schema else {})
    return put_argument(args, kwargs, 1, "input", new)
