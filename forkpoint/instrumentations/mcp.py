"""MCP client sessions: calls of a server's tools."""

import importlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import is_inside, put_argument, record_calls
from forkpoint.gateway_run import VARIABLE
from forkpoint.recorder import recorder
from forkpoint.vocabulary import SDK_MARK


def patch(module: ModuleType) -> None:
    wrap(
        module.ClientSession, "call_tool", lambda call: record_calls(_mark(call), _describe, _read, _answer, _rearrange)
    )
    declare_after(module.ClientSession, "list_tools", lambda result, *_, **__: [tool.name for tool in result.tools])


def _mark(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call that tells the gateway that this layer takes care of it."""

    async def call_tool(*args: Any, **kwargs: Any) -> Any:
        if recorder.session is not None or os.environ.get(VARIABLE):
            kwargs["meta"] = {**(kwargs.get("meta") or {}), SDK_MARK: True}
        return await call(*args, **kwargs)

    return call_tool


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = args[1] if len(args) > 1 else kwargs["name"]
    arguments = args[2] if len(args) > 2 else kwargs.get("arguments")
    # A framework's tool of the same name is the same call, one layer above.
    return None if is_inside("tool", name) else recorder.tool(name, dict(arguments or {}))


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    return put_argument(args, kwargs, 2, "arguments", new)


def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Return the recorded result; one that reported an error is known by its text."""
    result = importlib.import_module("mcp.types").CallToolResult
    if isinstance(answer.output, dict):
        return result.model_validate(answer.output)
    is_error = bool(answer.error) and answer.output is not None
    text = answer.output if is_error else answer.result()
    return result.model_validate({"content": [{"type": "text", "text": text}], "isError": is_error})


def _read(result: Any) -> Any:
    """Return the text of a result, or all of it if it is more than one text. An error result fails the step."""
    content = getattr(result, "content", None)
    texts = [block.text for block in content or () if getattr(block, "type", "") == "text"]
    is_text = content is not None and len(texts) == len(content) == 1
    if is_text and (step := recorder.current.get()) is not None:
        step.form = _form(result, texts[0])
    is_error = getattr(result, "is_error", None) or getattr(result, "isError", None)
    if is_error and (step := recorder.current.get()) is not None:
        step.fail("\n".join(texts) or "the server reported an error")
    return texts[0] if is_text else result


def _form(result: Any, text: str) -> dict[str, Any] | None:
    """Return what a result has besides its text: as a rule the same value as JSON."""
    value = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    if not value:
        return None
    if value == {"result": text}:
        return {"type": "mcp_result", "content": "result"}
    with suppress(ValueError):
        if json.loads(text) == value:
            return {"type": "mcp_result", "content": "json"}
    return {"type": "opaque"}
