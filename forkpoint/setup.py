"""`forkpoint.init`: one call that records an agent's runs."""

import logging
import os
from pathlib import Path

from forkpoint import instrumentations
from forkpoint.recorder import Recorder, recorder
from forkpoint.transport.writer import Redact

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
        name = app if app is not None else os.environ.get("FORKPOINT_APP")
        recorder.configure(
            sink=sink, app=name, environment=environment, url=url, token=token, sample=float(sample), redact=redact
        )
        if instrument:
            instrumentations.install()
    except Exception as error:  # noqa: BLE001 - an agent runs whether it is recorded or not
        _log.error("Nothing is recorded: %s: %s", type(error).__name__, error)
        recorder.configure(sink="off")
    return recorder


def flush(timeout_s: float = 5.0) -> bool:
    """Wait until everything recorded so far was sent or written; return False if it was not."""
    return recorder.flush(timeout_s)


def stats() -> dict[str, int]:
    """Return how many events were recorded, sent, stored for later, rejected and dropped."""
    return recorder.stats()
