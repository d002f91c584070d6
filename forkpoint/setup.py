"""`forkpoint.init`, which records an agent's runs in one call, and the other functions of the package."""

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from forkpoint import gateway_calls, instrumentations
from forkpoint.gateway_run import GATEWAY
from forkpoint.recorder import Recorder, recorder
from forkpoint.session import UNAVAILABLE, end_process
from forkpoint.transport.writer import Redact

P = ParamSpec("P")
R = TypeVar("R")
_log = logging.getLogger("forkpoint")


def init(
    *,
    app: str | None = None,
    environment: str | None = None,
    url: str | None = None,
    token: str | None = None,
    sink: str | Path | None = None,
    sample: float = 1.0,
    redact: Redact | None = None,
    instrument: bool = True,
) -> Recorder:
    """Record the calls that the known client libraries make, and return the recorder. Never raises.

    Events go to the server at `url` (default: FORKPOINT_URL) with `token` (default: FORKPOINT_TOKEN), or to files in
    the folder `sink`. `sample` is the share of runs that are recorded, from 0 to 1. `redact` gets the payload of each
    event, on a background thread, and returns the payload to record; if it fails, the payload is blocked.

    Example: `forkpoint.init(app="order-desk")`.
    """
    try:
        _check(url or os.environ.get("FORKPOINT_URL") or "", float(sample))
        name = app if app is not None else os.environ.get("FORKPOINT_APP")
        recorder.configure(
            sink=sink, app=name, environment=environment, url=url, token=token, sample=float(sample), redact=redact
        )
        if instrument:
            instrumentations.install()
            gateway_calls.install()
    except Exception as error:  # noqa: BLE001 - an agent runs whether it is recorded or not
        if recorder.session is not None:
            end_process(f"the rerun cannot start: {type(error).__name__}: {error}", UNAVAILABLE)
        _log.error("Nothing is recorded: %s: %s", type(error).__name__, error)
        recorder.configure(sink="off")
    return recorder


def _check(url: str, sample: float) -> None:
    """Raise `ValueError` for an address to which nothing can be sent, and for a share that is none."""
    if url and not re.match(r"https?://[^/?#]", url, re.IGNORECASE):
        raise ValueError(f"the address {url!r} needs a scheme and a host, as in http://localhost:8700")
    if not 0 <= sample <= 1:
        raise ValueError(f"sample is {sample}: it must be from 0 to 1")


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool(name: str = "", /, *, version: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(function: Any = "", /, *, version: str = "") -> Any:
    """Record every call of a function as a tool step. A rerun gives the recorded outcome instead of making the call.

    Examples: `@forkpoint.tool` and `@forkpoint.tool("get_order", version="2")`.
    """
    return recorder.tool()(function) if callable(function) else recorder.tool(function, version=version)


def base_url(provider: str, address: str) -> str:
    """Return the address of a provider's API: that of the gateway in a recording or a rerun, else `address`.

    For clients that read no variable, and for providers that the server is configured with under a name of their own.

    Example: `OpenAI(base_url=forkpoint.base_url("vllm", "http://gpu:8000/v1"))`.
    """
    gateway = os.environ.get(GATEWAY)
    return f"{gateway}/{provider}" if gateway else address


def is_replay() -> bool:
    """Return whether this process runs in a rerun, which answers its calls from a recording."""
    return recorder.session is not None


def flush(timeout_s: float = 5.0) -> bool:
    """Wait until everything recorded so far was sent or written; return False if it was not."""
    return recorder.flush(timeout_s)


def stats() -> dict[str, int]:
    """Return how many events were recorded, sent, stored for later, rejected and dropped."""
    return recorder.stats()
