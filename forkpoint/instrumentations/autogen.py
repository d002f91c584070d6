"""AutoGen: its tools. Model calls are recorded by the clients below."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import put_argument, record_calls
from forkpoint.recorder import recorder


def patch_tools(module: ModuleType) -> None:
    wrap(
        module.BaseTool,
        "run_json",
        lambda call: record_calls(call, _describe_tool, substitute=_rebuild, rearrange=_rearrange),
    )
    declare_after(module.BaseTool, "__init__", lambda _, tool, *__, **___: [tool.name])


def _describe_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool = args[0]
    if type(tool).__module__.startswith("autogen_ext.tools.mcp"):
        # The session of the MCP client records it.
        return None
    arguments = args[1] if len(args) > 1 else kwargs["args"]
    return recorder.tool(
        tool.name, dict(arguments), call_id=kwargs.get("call_id") or (args[3] if len(args) > 3 else "")
    )


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    require_properties(new, args[0].schema.get("parameters", {}))
    return put_argument(args, kwargs, 1, "args", new)


def _rebuild(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Return the recorded output as the tool's own type: only then its text for the model is the same."""
    output, own_type = answer.result(), args[0].return_type()
    return (
        own_type.model_validate(output) if isinstance(output, dict) and hasattr(own_type, "model_validate") else output
    )
