"""The end of an agent one of whose forked processes ends.

A pool replaces a worker that has ended, and then waits for the worker's result without end.
"""

import os
import threading
from collections.abc import Callable
from typing import Final

# By the process that forked first: the end of its pipe to which the forked processes write an exit code.
_pipes: Final[dict[int, int]] = {}


def watch_forks(end: Callable[[int], None]) -> None:
    """Let `end` be called with an exit code in this process when a process forked from it calls `end_first_process`."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: _watch(end))


def end_first_process(code: int) -> None:
    """Let the process end from which this one was forked, if it is none of its own."""
    for process_id, pipe in _pipes.items():
        if process_id != os.getpid():
            os.write(pipe, bytes([code]))


def _watch(end: Callable[[int], None]) -> None:
    # What is forked from a forked process has the pipe, too.
    if _pipes:
        return
    source, _pipes[os.getpid()] = os.pipe()

    def wait() -> None:
        end(os.read(source, 1)[0])

    threading.Thread(target=wait, name="forkpoint-forks", daemon=True).start()
