"""Post events with the standard library. Loaded on the sender thread: its imports take longer than a step should."""

import importlib
import json
import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from forkpoint.transport.outcomes import DEFAULT_RETRY_S, Delivery, Outcome

_TIMEOUT_S: Final = 10.0
_PATH: Final = "/api/v1/events"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


_STATUSES: Final = {
    400: Outcome.INVALID,
    401: Outcome.FORBIDDEN,
    403: Outcome.FORBIDDEN,
    413: Outcome.TOO_LARGE,
    415: Outcome.INVALID,
    422: Outcome.INVALID,
    429: Outcome.BUSY,
    503: Outcome.BUSY,
}


def post(url: str, token: str, body: bytes) -> Delivery:
    """Post a compressed body of JSON lines to the server at `url`."""
    encoding, compress = _compression()
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": encoding}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        request = Request(url.rstrip("/") + _PATH, data=compress(body), headers=headers, method="POST")
        with open_request(request, timeout_s=_TIMEOUT_S) as response:
            return _delivery(response.status, response.headers, response.read())
    except HTTPError as error:
        with error:
            return _delivery(error.code, error.headers, error.read())
    except Exception as error:  # noqa: BLE001 - whatever prevents a request, the events wait for the next
        return Delivery(outcome=Outcome.UNREACHABLE, reason=f"{type(error).__name__}: {error}")


def open_request(request: Request, *, timeout_s: float) -> Any:
    """Send a request, and return the open response; raise `OSError`."""
    if not request.host:
        raise OSError(f"the address {request.full_url} has no host: write it as in http://localhost:8700")
    opener = _opener(request.host.rsplit(":", 1)[0].strip("[]") in _LOOPBACK)
    with _suppressed_tracing():
        return opener.open(request, timeout=timeout_s)


def _suppressed_tracing() -> AbstractContextManager[Any]:
    """Return what keeps OpenTelemetry from tracing a request: it would be a trace of its own among those of the agent.

    Whatever instruments the standard library has loaded this module.
    """
    instrumentation = sys.modules.get("opentelemetry.instrumentation.utils")
    suppress = getattr(instrumentation, "suppress_instrumentation", None)
    return nullcontext() if suppress is None else suppress()


@cache
def _opener(is_loopback: bool) -> OpenerDirector:
    """Return an opener that follows no redirect, and uses no proxy for this machine."""
    proxies = [ProxyHandler({})] if is_loopback else []
    return build_opener(_NoRedirects, *proxies)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


@cache
def _compression() -> tuple[str, Callable[[bytes], bytes]]:
    """Return the name of the best available compression, and its function."""
    try:
        return "zstd", importlib.import_module("compression.zstd").compress
    except ImportError:
        pass
    try:
        zstandard = importlib.import_module("zstandard")
        return "zstd", lambda body: zstandard.ZstdCompressor().compress(body)
    except ImportError:
        gzip = importlib.import_module("gzip")
        # Level 3: the text of agents repeats itself, so higher levels take longer for little.
        return "gzip", lambda body: gzip.compress(body, 3)


def _delivery(status: int, headers: Any, content: bytes) -> Delivery:
    text = content.decode("utf-8", "replace")
    if 200 <= status < 300:
        return Delivery(outcome=Outcome.SUCCESS, rejected_reasons=_rejected_reasons(text))
    outcome = _STATUSES.get(status, Outcome.UNREACHABLE)
    return Delivery(
        outcome=outcome, reason=f"{status} {text[:200]}", retry_after_s=_seconds(headers.get("Retry-After"))
    )


def _rejected_reasons(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(line.get("reason", "")) for line in json.loads(text).get("rejected", ()))
    except (ValueError, AttributeError, TypeError):
        return ()


def _seconds(text: str | None) -> float:
    """Parse the seconds of a Retry-After header; dates count as absent."""
    try:
        seconds = float(text or DEFAULT_RETRY_S)
    except ValueError:
        return DEFAULT_RETRY_S
    return max(seconds, 0.0) if math.isfinite(seconds) else DEFAULT_RETRY_S
