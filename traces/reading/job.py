"""Job of the file reader process: the protocol between it and its server. Pure."""

from dataclasses import dataclass
from typing import Final

from traces.reading.limits import Budget

# Exit code of a process that ran out of memory.
NO_MEMORY: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """The files to read: their names, starts and sizes inside the open file `descriptor`."""

    descriptor: int
    files: tuple[tuple[str, int, int], ...]
    format: str | None
    budget: Budget
