"""What is wrong with a file that cannot be imported."""

from collections.abc import Iterable
from typing import Final

from traces.errors import ProblemError

LISTED_PROBLEMS: Final = 1_000
MOST_PROBLEMS: Final = 10_000


class BadFile(ProblemError):
    """`where` is a line, a JSON pointer or a byte offset inside the file, whichever names the place best."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(problem, where=where)
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem} ({self.where})" if self.where else self.problem

    def prefix_location(self, outer: str) -> "BadFile":
        """The same problem, seen from the file that the bad part lies in."""
        return BadFile(self.problem, f"{outer}, {self.where}" if self.where else outer)


class Problems(list[BadFile]):
    """What was left out of a file: the first problems are kept, the rest counted; too many end the reading."""

    overflow_count = 0

    def append(self, problem: BadFile) -> None:
        """Add a problem; raises `BadFile` where the file has more of them than anybody would read."""
        if len(self) < LISTED_PROBLEMS:
            super().append(problem)
            return
        self.overflow_count += 1
        if len(self) + self.overflow_count > MOST_PROBLEMS:
            raise BadFile(
                f"more than {MOST_PROBLEMS} parts of this file cannot be read: the rest is left out", problem.where
            )

    def extend(self, problems: Iterable[BadFile]) -> None:
        for problem in problems:
            self.append(problem)
