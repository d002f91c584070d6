"""Processes that a program left behind: they have the mark of its start in their environment.

As a script (`python -I -S left_processes.py MARK`) it ends them when its standard input is closed: by the process that
has the other end, or by the kernel if that process was killed.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK: Final = "FORKPOINT_START"
_LAST_WORDS_S: Final = 2.0
_PAUSE_S: Final = 0.05
_PROC: Final = Path("/proc")


def end_left_processes(mark: str) -> int:
    """End the processes whose mark begins so, and return how many there were. Only systems with /proc show them."""
    processes = [*_processes(mark)]
    _signal(processes, signal.SIGTERM)
    deadline = time.monotonic() + _LAST_WORDS_S
    while processes and time.monotonic() < deadline and [*_processes(mark)]:
        time.sleep(_PAUSE_S)
    _signal(_processes(mark) if processes else (), signal.SIGKILL)
    return len(processes)


def start_guardian(mark: str, environment: Mapping[str, str]) -> "subprocess.Popen[bytes] | None":
    """Start a process that ends those whose mark begins so when this one has ended in any way, also by SIGKILL.

    Keep it until then. It has a session of its own, so that no signal of the terminal reaches it.
    """
    if not _PROC.exists():
        return None
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, mark],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def _guard(mark: str) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    end_left_processes(mark)


def _processes(mark: str) -> Iterator[int]:
    if not mark:
        # It would be the beginning of the mark of every agent on the machine.
        return
    beginning = f"\0{MARK}={mark}".encode()
    for path in _PROC.glob("[0-9]*/environ"):
        # Of other users, or ended meanwhile.
        with suppress(OSError):
            if beginning in b"\0" + path.read_bytes() and int(path.parent.name) != os.getpid():
                yield int(path.parent.name)


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


if __name__ == "__main__":
    _guard(sys.argv[1])
