"""What reading a file may take, by its size, and how the process that reads is held to it. Pure."""

import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MIB: Final = 2**20
_STATUS: Final = Path("/proc/self/statm")


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What a file may take: bytes of memory and seconds of a processor, and more of both with its size."""

    memory: int = 256 * _MIB
    memory_per_byte: int = 64
    seconds: int = 6
    seconds_per_mib: int = 3

    def memory_of(self, size: int) -> int:
        """The bytes of memory for a file of `size` bytes."""
        return self.memory + self.memory_per_byte * size

    def seconds_of(self, size: int) -> int:
        """The seconds of a processor for a file of `size` bytes."""
        return self.seconds + -(-self.seconds_per_mib * size // _MIB)


class Limits:
    """The limits of this process; each file has its own."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._base = _address_space()

    def allow(self, size: int) -> None:
        """Allow what a file of `size` bytes may take, from now on."""
        _limit(resource.RLIMIT_CPU, int(_processor_s()) + 1 + self._budget.seconds_of(size))
        if sys.platform == "linux":  # elsewhere the address space says nothing of the memory in use
            _limit(resource.RLIMIT_AS, self._base + self._budget.memory_of(size))


def _limit(kind: int, most: int) -> None:
    """Set the soft limit alone, which may be raised again for the next file."""
    _, hard = resource.getrlimit(kind)
    within = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (within, hard))


def _processor_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _address_space() -> int:
    """The bytes that this process has mapped."""
    if sys.platform != "linux":
        return 0
    return int(_STATUS.read_text().split()[0]) * resource.getpagesize()
