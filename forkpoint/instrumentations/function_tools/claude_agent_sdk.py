"""Claude Agent SDK: functions of MCP servers in the agent's own process. Its model calls are made by Claude Code."""

import copy
import json
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.patching import wrap
from forkpoint.capture.steps import interception, put_argument, record_calls
from forkpoint.recorder import recorder

# What Claude Code replaces in the names of servers.
_OTHER: Final = re.compile(r"[^a-zA-Z0-9_-]")


def patch_servers(module: ModuleType) -> None:
    wrap(module, "create_sdk_mcp_server", _record)


def _record(create: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(name: str, version: str = "1.0.0", tools: Any = None) -> Any:
        with interception():
            tools = None if tools is None else [_recorded_tool(name, tool) for tool in tools]
        return create(name, version, tools)

    return wrapper


def _recorded_tool(server: str, tool: Any) -> Any:
    """Return a copy of a tool whose calls are steps with the name that the model knows.

    An agent may give the server another name than the server has. Then the names differ, and the tool needs consent.
    """
    name = f"mcp__{_OTHER.sub('_', server)}__{tool.name}"
    if recorder.session is not None:
        recorder.session.declare_tools([name])
    recorded_tool = copy.copy(tool)

    def rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
        if isinstance(schema := tool.input_schema, dict):
            # The types of the arguments by their names, or a JSON schema.
            require_properties(new, schema if "properties" in schema else {"properties": schema})
        return put_argument(args, kwargs, 0, "args", new)

    recorded_tool.handler = record_calls(
        tool.handler, lambda args, _: recorder.tool(name, args[0]), _read, _answer, rearrange
    )
    return recorded_tool


def _read(result: Any) -> Any:
    """Return the text of a result that consists of it alone, else the result."""
    match result:
        case {"content": [{"type": "text", "text": str(text), **other_fields}], **others} if not (
            other_fields or others
        ):
            return text
    return result


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    output = answer.result()
    if isinstance(output, dict) and "content" in output:
        return output
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}]}
