"""Processes that a rerun's program left behind: they have its mark in their environment."""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_LAST_WORDS_S: Final = 2.0
_PAUSE_S: Final = 0.05


def end_left_processes(rerun: str) -> int:
    """End the processes of a rerun, and return how many there were. Only systems with /proc show them."""
    processes = [*_processes(rerun)]
    _signal(processes, signal.SIGTERM)
    deadline = time.monotonic() + _LAST_WORDS_S
    while processes and time.monotonic() < deadline and [*_processes(rerun)]:
        time.sleep(_PAUSE_S)
    _signal(_processes(rerun) if processes else (), signal.SIGKILL)
    return len(processes)


def _processes(rerun: str) -> Iterator[int]:
    mark = f"FORKPOINT_RERUN={rerun}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        # Of other users, or ended meanwhile.
        with suppress(OSError):
            if mark in path.read_bytes().split(b"\0") and int(path.parent.name) != os.getpid():
                yield int(path.parent.name)


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
