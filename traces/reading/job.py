"""What a server and the process that reads files for it agree on. Pure."""

from dataclasses import dataclass
from typing import Final

from traces.reading.limits import Budget

# The exit code of a process that has no memory left.
NO_MEMORY: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What is to be read: names, starts and sizes of the files that lie in the open file `descriptor`."""

    descriptor: int
    files: tuple[tuple[str, int, int], ...]
    format: str | None
    budget: Budget
