"""LiteLLM: completions of the providers that it calls by itself. OpenAI's client records those made through it."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from forkpoint.capture.model_calls import OuterCall, current_outer_call, outer_call, start_model_call
from forkpoint.capture.patching import wrap
from forkpoint.capture.streams import record_in_place
from forkpoint.recorder import recorder

# Providers whose request bodies have the form of one of these APIs.
_APIS = {"anthropic": "anthropic.messages", "gemini": "google.generate_content", "vertex_ai": "google.generate_content"}


def patch(module: ModuleType) -> None:
    wrap(module, "completion", _record)
    wrap(module, "acompletion", _record_async)
    base = importlib.import_module("litellm.integrations.custom_logger").CustomLogger
    logger = type("ForkpointLogger", (base,), {"log_pre_api_call": _note_request})
    module.callbacks.append(logger())


def _note_request(_: Any, model: Any, messages: Any, kwargs: dict[str, Any]) -> None:
    """Note the request as it is sent. LiteLLM passes it by keyword, before it makes the call."""
    with recorder.suppress_errors():
        body = (kwargs.get("additional_args") or {}).get("complete_input_dict")
        if (call := current_outer_call()) is not None and body:
            provider = kwargs.get("custom_llm_provider") or ""
            call.request = {"provider": provider, "model": model, "body": body}


def _record(complete: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if current_outer_call() is not None:
            # A retry, a fallback, or `acompletion` calling `completion`.
            return complete(*args, **kwargs)
        with outer_call() as outer:
            try:
                result = complete(*args, **kwargs)
            except BaseException as error:
                _fail(outer, args, kwargs, error)
                raise
        with recorder.suppress_errors():
            _finish(outer, args, kwargs, result)
        return result

    return wrapper


def _record_async(complete: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if current_outer_call() is not None:
            return await complete(*args, **kwargs)
        with outer_call() as outer:
            try:
                result = await complete(*args, **kwargs)
            except BaseException as error:
                _fail(outer, args, kwargs, error)
                raise
        with recorder.suppress_errors():
            _finish(outer, args, kwargs, result)
        return result

    return wrapper


def _start(outer: OuterCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record the start of a call that no client library recorded."""
    if outer.is_recorded:
        return None
    names = ("model", "messages")
    options = {**dict(zip(names, args, strict=False)), **kwargs}
    sent_call = outer.request or {"provider": "", "model": options.get("model"), "body": options}
    body = sent_call["body"]
    is_known = isinstance(body, dict) and not isinstance(body.get("messages", body.get("contents")), str)
    api = _APIS.get(sent_call["provider"], "openai.chat") if is_known else "openai.chat"
    return start_model_call(
        provider=sent_call["provider"], model=sent_call["model"], api=api, request=body if is_known else options
    )


def _fail(outer: OuterCall, args: tuple[Any, ...], kwargs: dict[str, Any], error: BaseException) -> None:
    if (call := _start(outer, args, kwargs)) is not None:
        call.fail(error)


def _finish(outer: OuterCall, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    if (call := _start(outer, args, kwargs)) is None:
        return
    if not hasattr(result, "completion_stream"):
        call.finish(result)
        return
    builder = importlib.import_module("litellm").stream_chunk_builder
    record_in_place(result, call, builder)
