"""Google's GenAI client: contents, and the functions that it calls automatically."""

import inspect
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

from forkpoint.arguments import Arguments, require_properties
from forkpoint.capture.assembly import assemble_content
from forkpoint.capture.model_calls import ModelCall, start_model_call
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import record_calls
from forkpoint.capture.streams import RecordedAsyncIterator, RecordedIterator
from forkpoint.recorder import recorder


def patch_client(module: ModuleType) -> None:
    client = module.BaseApiClient
    wrap(client, "request", _record)
    wrap(client, "async_request", _record_async)
    wrap(client, "request_streamed", _record_stream)
    wrap(client, "async_request_streamed", _record_async_stream)


def patch_functions(module: ModuleType) -> None:
    for name in ("invoke_function_from_dict_args", "invoke_function_from_dict_args_async"):
        wrap(module, name, lambda call: record_calls(call, _describe_function, rearrange=_rearrange))
    declare_after(module, "should_disable_afc", _called_functions)


def _called_functions(is_disabled: bool, config: Any = None) -> list[str]:
    """Return the functions that the client calls by itself."""
    tools = getattr(config, "tools", None) or ()
    return [] if is_disabled else [tool.__name__ for tool in tools if inspect.isroutine(tool)]


def _describe_function(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    arguments, function = args[0], args[1]
    return recorder.tool(function.__name__, dict(arguments))


def _rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    parameters = inspect.signature(args[1]).parameters.values()
    collects_extras = any(item.kind is item.VAR_KEYWORD for item in parameters)
    require_properties(new, {"properties": {item.name for item in parameters}, "additionalProperties": collects_extras})
    return (new, *args[1:]), kwargs


def _start(client: Any, path: str, body: Any) -> ModelCall | None:
    model, _, method = path.partition("?")[0].rpartition("/")[2].partition(":")
    if method not in {"generateContent", "streamGenerateContent"}:
        return None
    # Keys with an underscore are parts of the address.
    body = {key: value for key, value in body.items() if not key.startswith("_")}
    provider = "vertex" if getattr(client, "vertexai", False) else "google"
    return start_model_call(provider=provider, model=model, api="google.generate_content", request=body)


def _read(response: Any) -> Any:
    """Parse the JSON of an answer or of a part of a stream."""
    body = getattr(response, "body", response)
    return json.loads(body) if isinstance(body, str) and body else body


def _read_stream(responses: list[Any]) -> Any:
    return assemble_content([_read(response) for response in responses])


def _record(request: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        if (call := _start(self, path, body)) is None:
            return request(self, method, path, body, *args, **kwargs)
        try:
            response = request(self, method, path, body, *args, **kwargs)
        except BaseException as error:
            call.fail(error)
            raise
        with recorder.suppress_errors():
            call.finish(_read(response))
        return response

    return wrapper


def _record_async(request: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        if (call := _start(self, path, body)) is None:
            return await request(self, method, path, body, *args, **kwargs)
        try:
            response = await request(self, method, path, body, *args, **kwargs)
        except BaseException as error:
            call.fail(error)
            raise
        with recorder.suppress_errors():
            call.finish(_read(response))
        return response

    return wrapper


def _record_stream(request: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        call = _start(self, path, body)
        stream = request(self, method, path, body, *args, **kwargs)
        return stream if call is None else RecordedIterator(stream, call, _read_stream)

    return wrapper


def _record_async_stream(request: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        if (call := _start(self, path, body)) is None:
            return await request(self, method, path, body, *args, **kwargs)
        try:
            stream = await request(self, method, path, body, *args, **kwargs)
        except BaseException as error:
            call.fail(error)
            raise
        return RecordedAsyncIterator(aiter(stream), call, _read_stream)

    return wrapper
