"""MCP client sessions: calls of a server's tools."""

import importlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import is_inside, put_argument, record_calls
from forkpoint.gateway_run import VARIABLE
from forkpoint.instrumentations import mcp_dialogue
from forkpoint.recorder import recorder
from forkpoint.vocabulary import MCP_SERVER_TITLE, SDK_MARK

_LONGEST_TITLE = 200
# Of a result that asks the client, which then calls again with its answers.
_INPUT_REQUIRED = "input_required"
# The argument of a call with what is told of its progress.
_CALLBACK, _CALLBACK_PLACE = "progress_callback", 4
# How the server of a session calls itself.
_TITLES: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def patch(module: ModuleType) -> None:
    wrap(
        module.ClientSession, "call_tool", lambda call: record_calls(_mark(call), _describe, _read, _answer, _rearrange)
    )
    wrap(module.ClientSession, "initialize", _note_title)
    mcp_dialogue.patch(module.ClientSession)
    declare_after(module.ClientSession, "list_tools", lambda result, *_, **__: [tool.name for tool in result.tools])


def _mark(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call that tells the gateway that this layer takes care of it."""

    async def call_tool(*args: Any, **kwargs: Any) -> Any:
        if recorder.session is not None or os.environ.get(VARIABLE):
            kwargs["meta"] = {**(kwargs.get("meta") or {}), SDK_MARK: True}
        with mcp_dialogue.open_call(args[0]) as step:
            callback = _progress_callback(args, kwargs)
            if step is not None and callback is not None:
                note = mcp_dialogue.note_progress(step, callback)
                args, kwargs = put_argument(args, kwargs, _CALLBACK_PLACE, _CALLBACK, note)
            try:
                return await call(*args, **kwargs)
            except Exception as error:
                _note_error(error)
                raise

    return call_tool


def _progress_callback(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    callback: Callable[..., Any] | None
    callback = args[_CALLBACK_PLACE] if len(args) > _CALLBACK_PLACE else kwargs.get(_CALLBACK)
    return callback


def _note_error(error: Exception) -> None:
    """Keep all of an error of the protocol: its text lacks the code and the data."""
    if (data := getattr(error, "error", None)) is not None and (step := recorder.current.get()) is not None:
        with suppress(AttributeError, TypeError):
            step.output = {"error": _json(data)}


def _json(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _note_title(initialize: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handshake that notes how the server calls itself."""

    async def wrapper(session: Any, *args: Any, **kwargs: Any) -> Any:
        mcp_dialogue.note_place(session)
        result = await initialize(session, *args, **kwargs)
        with suppress(AttributeError, TypeError):
            information = getattr(result, "server_info", None) or result.serverInfo
            _TITLES[session] = str(information.name)[:_LONGEST_TITLE]
        return result

    return wrapper


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = args[1] if len(args) > 1 else kwargs["name"]
    arguments = args[2] if len(args) > 2 else kwargs.get("arguments")
    # A framework's tool of the same name is the same call, one layer above.
    if is_inside("tool", name):
        return None
    step = recorder.tool(name, dict(arguments or {}))
    step.plays_messages = True
    if title := _TITLES.get(args[0]):
        step.attributes[MCP_SERVER_TITLE] = title
    return step


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    return put_argument(args, kwargs, 2, "arguments", new)


async def _answer(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Give the recorded result after what the server said before it, or make the call if the client objects to that."""
    if await mcp_dialogue.play(args[0], _progress_callback(args, kwargs), answer):
        return _result(answer)
    return await call(*args, **kwargs)


def _result(answer: Answer) -> Any:
    """Return the recorded result, or raise the recorded error of the protocol. Some results are known by their text."""
    types = importlib.import_module("mcp.types")
    result = types.CallToolResult
    if isinstance(answer.output, dict):
        error = answer.output.get("error")
        if answer.error and isinstance(error, dict):
            raise _protocol_error(types.ErrorData.model_validate(error))
        is_question = answer.output.get("resultType") == _INPUT_REQUIRED
        return (types.InputRequiredResult if is_question else result).model_validate(answer.output)
    is_error = bool(answer.error) and answer.output is not None
    text = answer.output if is_error else answer.result()
    return result.model_validate({"content": [{"type": "text", "text": text}], "isError": is_error})


def _protocol_error(error: Any) -> Exception:
    errors: Any = importlib.import_module("mcp.shared.exceptions")
    # The second generation has another name and another constructor.
    kind = getattr(errors, "MCPError", None)
    exception: Exception = errors.McpError(error) if kind is None else kind.from_error_data(error)
    return exception


def _read(result: Any) -> Any:
    """Return the text of a result, or all of it if it is more than one text. An error result fails the step."""
    content = getattr(result, "content", None)
    texts = [block.text for block in content or () if getattr(block, "type", "") == "text"]
    is_text = len(texts) == len(content or ()) == 1 and not _has_more(result, texts[0])
    form = _form(result, texts[0]) if is_text else None
    if form is not None and (step := recorder.current.get()) is not None:
        step.form = form
    is_error = getattr(result, "is_error", None) or getattr(result, "isError", None)
    if is_error and (step := recorder.current.get()) is not None:
        step.fail("\n".join(texts) or "the server reported an error")
    return texts[0] if is_text else _json(result)


def _has_more(result: Any, text: str) -> bool:
    """Return whether a result of one text has annotations, metadata or other structured content, too."""
    block = result.content[0]
    parts = (getattr(result, "meta", None), getattr(block, "annotations", None), getattr(block, "meta", None))
    return any(parts) or (bool(_structured_content(result)) and _form(result, text) is None)


def _structured_content(result: Any) -> Any:
    return getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)


def _form(result: Any, text: str) -> dict[str, Any] | None:
    """Return how the structured content follows from the text: as a rule it is the same value as JSON."""
    value = _structured_content(result)
    if value and value == {"result": text}:
        return {"type": "mcp_result", "content": "result"}
    with suppress(ValueError):
        if value and json.loads(text) == value:
            return {"type": "mcp_result", "content": "json"}
    return None
