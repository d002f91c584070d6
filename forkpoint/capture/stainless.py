"""Clients that OpenAI's and Anthropic's generator wrote: all requests pass one method, with the body as it is sent.

Recording there covers the plain, typed, raw and streaming methods of both, for threads and asyncio.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from forkpoint.capture.model_calls import ModelCall, start_model_call
from forkpoint.capture.patching import wrap
from forkpoint.capture.streams import Assemble, RecordedAsyncIterator, RecordedIterator
from forkpoint.recorder import recorder

_PLACEHOLDERS: Final = frozenset({"Omit", "NotGiven"})


@dataclass(frozen=True, kw_only=True)
class Api:
    """One API of a provider: its name in recordings, and how its streams form an answer."""

    name: str
    assemble: Assemble


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client library: its APIs by path, and the provider that a client object calls."""

    apis: Mapping[str, Api]
    provider: Callable[[Any], str]


def patch(module: ModuleType, client: Client) -> None:
    """Record the calls of a library, given its module with the base clients."""
    wrap(module.SyncAPIClient, "post", lambda post: _sync_post(post, client))
    wrap(module.AsyncAPIClient, "post", lambda post: _async_post(post, client))


def _sync_post(post: Callable[..., Any], client: Client) -> Callable[..., Any]:
    def record_post(self: Any, path: str, **options: Any) -> Any:
        api, call = _start(client, self, path, options)
        if api is None or call is None:
            return post(self, path, **options)
        try:
            result = post(self, path, **options)
        except BaseException as error:
            call.fail(error)
            raise
        return _record_result(result, call, api)

    return record_post


def _async_post(post: Callable[..., Any], client: Client) -> Callable[..., Any]:
    async def record_post(self: Any, path: str, **options: Any) -> Any:
        api, call = _start(client, self, path, options)
        if api is None or call is None:
            return await post(self, path, **options)
        try:
            result = await post(self, path, **options)
        except BaseException as error:
            call.fail(error)
            raise
        return _record_result(result, call, api)

    return record_post


def _start(client: Client, self: Any, path: str, options: dict[str, Any]) -> tuple[Api | None, ModelCall | None]:
    api = client.apis.get(path.partition("?")[0])
    body = options.get("body")
    if api is None or not isinstance(body, Mapping):
        return None, None
    extra = (options.get("options") or {}).get("extra_json") or {}
    # Placeholders of parameters that were not given are left out when the body is sent.
    request = {key: value for key, value in {**body, **extra}.items() if type(value).__name__ not in _PLACEHOLDERS}
    model = request.get("model")
    return api, start_model_call(provider=client.provider(self), model=model, api=api.name, request=request)


def _record_result(result: Any, call: ModelCall, api: Api) -> Any:
    """Record a parsed answer, a stream, or a raw response that is parsed later. Returns the same object."""
    with recorder.suppress_errors():
        if hasattr(result, "_iterator"):
            _record_stream(result, call, api.assemble)
        elif hasattr(result, "http_response") and hasattr(result, "parse"):
            _record_raw(result, call, api)
        else:
            call.finish(result)
    return result


def _record_stream(stream: Any, call: ModelCall, assemble: Assemble) -> None:
    """Record the stream's events as they are read, and its end or closing."""
    events = stream._iterator
    is_async = hasattr(events, "__anext__")
    iterator: Any = (
        RecordedAsyncIterator(events, call, assemble) if is_async else RecordedIterator(events, call, assemble)
    )
    stream._iterator = iterator
    close = stream.close

    def close_sync() -> None:
        iterator.cut_off()
        close()

    async def close_async() -> None:
        iterator.cut_off()
        await close()

    stream.close = close_async if is_async else close_sync


def _record_raw(response: Any, call: ModelCall, api: Api) -> None:
    """Record a raw response: at once if its body was read, else when it is parsed."""
    if response.http_response.is_stream_consumed:
        call.finish(response.http_response.json())
        return
    parse = response.parse

    def record_parse(**options: Any) -> Any:
        result = parse(**options)
        if hasattr(result, "__await__"):
            return _record_parsed_later(result, call, api)
        return (
            result if getattr(result, "_iterator", None).__class__ in _ITERATORS else _record_result(result, call, api)
        )

    response.parse = record_parse


async def _record_parsed_later(result: Any, call: ModelCall, api: Api) -> Any:
    return _record_result(await result, call, api)


_ITERATORS = (RecordedIterator, RecordedAsyncIterator)
