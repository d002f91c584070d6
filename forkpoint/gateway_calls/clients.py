"""HTTP clients: what they send to the gateway, and to nobody else, names the step and the lane of the call.

Libraries of providers send by one of these, whatever their own functions are.
"""

import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from forkpoint.capture.patching import wrap
from forkpoint.gateway_run import GATEWAY, LANE_HEADER, STEP_HEADER
from forkpoint.lanes import current_lane
from forkpoint.recorder import recorder


def _headers_for(url: str) -> Mapping[str, str]:
    """Return the headers of a call, by its address or path; none outside of the gateway."""
    with recorder.suppress_errors():
        path = urlsplit(os.environ.get(GATEWAY, "")).path.rstrip("/")
        # No other address contains the name of the session. What the SDK itself sends is no call of a lane.
        if path and f"{path}/" in url and f"{path}/sdk/" not in url:
            step = recorder.gateway_step()
            return {LANE_HEADER: current_lane(), **({STEP_HEADER: step} if step else {})}
    return {}


def _patch_standard_library(module: ModuleType) -> None:
    """Also `requests` and `urllib3`."""
    wrap(module.HTTPConnection, "putrequest", _put_headers)


def _put_headers(put_request: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        result = put_request(self, method, url, *args, **kwargs)
        for name, value in _headers_for(url).items():
            self.putheader(name, value)
        return result

    return wrapper


def _patch_httpx(module: ModuleType) -> None:
    wrap(module.Client, "send", _send)
    wrap(module.AsyncClient, "send", _send_async)


def _patch_aiohttp(module: ModuleType) -> None:
    wrap(module.ClientRequest, "send", _send_async_request)


def _send(send: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        request.headers.update(_headers_for(str(request.url)))
        return send(self, request, *args, **kwargs)

    return wrapper


def _send_async(send: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        request.headers.update(_headers_for(str(request.url)))
        return await send(self, request, *args, **kwargs)

    return wrapper


def _send_async_request(send: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.headers.update(_headers_for(str(self.url)))
        return await send(self, *args, **kwargs)

    return wrapper


PATCHES: Final = {
    "http.client": _patch_standard_library,
    "httpx._client": _patch_httpx,
    "httpx2._client": _patch_httpx,
    "aiohttp.client_reqrep": _patch_aiohttp,
}
