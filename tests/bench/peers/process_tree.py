"""CPU time and memory of a process and its descendants, from `/proc`."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_SAMPLE_EVERY_S: Final = 0.5


def pids(root: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield root
    for children in _PROC.glob(f"{root}/task/*/children"):
        for child in _read(children).split():
            yield from pids(int(child))


def cpu_s(root: int) -> float:
    """Return the CPU seconds of a process tree, including those of children that ended and were waited for."""
    return sum(_process_cpu_s(pid) for pid in pids(root))


def demand_s(root: int) -> float:
    """Return the seconds in which threads of a process tree ran or waited for a core.

    On a busy machine a working process may hardly run; its demand still grows.
    """
    files = (_read(file) for pid in pids(root) for file in _PROC.glob(f"{pid}/task/*/schedstat"))
    return sum(sum(map(int, file.split()[:2])) for file in files) / 1e9


def memory_mb(root: int) -> float:
    """Return the resident memory of a process tree; a page that processes share counts once."""
    return sum(_process_memory_kb(pid) for pid in pids(root)) / 1000


class PeakMemory:
    """Samples the memory of a process tree until the end of the `with` block."""

    def __init__(self, root: int) -> None:
        self.mb = memory_mb(root)
        self._root = root
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_event.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop_event.wait(_SAMPLE_EVERY_S):
            self.mb = max(self.mb, memory_mb(self._root))


def _process_cpu_s(pid: int) -> float:
    # The fields after the command in parentheses, which may contain spaces; user and system time of the process, then
    # of its children.
    fields = _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_S


def _process_memory_kb(pid: int) -> float:
    """Return the proportional set size: memory that several processes share is divided between them."""
    lines = _read(_PROC / str(pid) / "smaps_rollup").splitlines()
    return next((1.024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0.0)


def _read(path: Path) -> str:
    """Return the content of a file of a process that may have ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
