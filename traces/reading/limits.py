"""Limits for reading a file, by its size, and their enforcement on this process. Pure."""

import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MIB: Final = 2**20
_STATUS: Final = Path("/proc/self/statm")


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Limits of memory (bytes) and CPU time (seconds) for a file; both grow with its size."""

    memory: int = 256 * _MIB
    memory_per_byte: int = 64
    seconds: int = 6
    seconds_per_mib: int = 3

    def memory_of(self, size: int) -> int:
        """Return the memory limit, in bytes, for a file of `size` bytes."""
        return self.memory + self.memory_per_byte * size

    def seconds_of(self, size: int) -> int:
        """Return the limit of CPU time, in seconds, for a file of `size` bytes."""
        return self.seconds + -(-self.seconds_per_mib * size // _MIB)


class Limits:
    """Sets the limits of this process for each file."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._base = _address_space()

    def allow(self, size: int) -> None:
        """Set the limits for a file of `size` bytes, starting now."""
        _limit(resource.RLIMIT_CPU, int(_processor_s()) + 1 + self._budget.seconds_of(size))
        # Elsewhere the address space does not reflect the memory in use.
        if sys.platform == "linux":
            _limit(resource.RLIMIT_AS, self._base + self._budget.memory_of(size))


def _limit(kind: int, maximum: int) -> None:
    """Set only the soft limit, which can be raised again for the next file."""
    _, hard = resource.getrlimit(kind)
    soft = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
    resource.setrlimit(kind, (soft, hard))


def _processor_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _address_space() -> int:
    """Return the size of this process's address space in bytes."""
    if sys.platform != "linux":
        return 0
    return int(_STATUS.read_text().split()[0]) * resource.getpagesize()
