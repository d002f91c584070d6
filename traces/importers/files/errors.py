"""What is wrong with a file that cannot be imported."""

from collections.abc import Iterable
from typing import Final

from traces.errors import ProblemError

KEPT: Final = 1_000
MOST: Final = 10_000


class BadFile(ProblemError):
    """`where` is a line, a JSON pointer or a byte offset inside the file, whichever names the place best."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(problem, where=where)
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem} ({self.where})" if self.where else self.problem

    def inside(self, outer: str) -> "BadFile":
        """The same problem, seen from the file that the bad part lies in."""
        return BadFile(self.problem, f"{outer}, {self.where}" if self.where else outer)


class Problems(list[BadFile]):
    """What was left out of a file: the first problems are kept, the rest counted; too many end the reading."""

    omitted = 0

    def append(self, problem: BadFile) -> None:
        """Add a problem; raises `BadFile` where the file has more of them than anybody would read."""
        if len(self) < KEPT:
            super().append(problem)
            return
        self.omitted += 1
        if len(self) + self.omitted > MOST:
            raise BadFile(f"more than {MOST} parts of this file cannot be read: the rest is left out", problem.where)

    def extend(self, problems: Iterable[BadFile]) -> None:
        for problem in problems:
            self.append(problem)
