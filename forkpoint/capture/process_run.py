"""One run for a whole process, for programs that `forkpoint record` starts."""

import atexit
import os
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from forkpoint.gateway_run import VARIABLE
from forkpoint.recorder import recorder
from forkpoint.scopes import RunScope

_lock = threading.Lock()
_runs: dict[int, RunScope] = {}


def process_run() -> RunScope | None:
    """Return the run of this process, which its first recorded call begins; None unless it is recorded as a whole."""
    if not (os.environ.get("FORKPOINT_RECORD") or os.environ.get(VARIABLE)):
        return None
    with _lock:
        run = _runs.get(os.getpid())
        if run is None:
            run = _runs[os.getpid()] = recorder.run(Path(sys.argv[0]).name if sys.argv else "").begin()
            _watch_end(run)
    return run


def _begin_after_fork() -> None:
    """Begin the run of a forked process where the gateway has a run for all of them."""
    if os.environ.get(VARIABLE) and _runs:
        process_run()


def _watch_end(run: RunScope) -> None:
    """End the run when the program ends; an exception that ends it is the run's error."""
    show_error = sys.excepthook

    def note_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        run.fail(error)
        return show_error(kind, error, trace)

    sys.excepthook = note_error
    atexit.register(run.end)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_after_fork)
