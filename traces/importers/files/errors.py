"""Problems with files that cannot be imported."""

from collections.abc import Iterable
from typing import Final

from traces.errors import ProblemError

LISTED_PROBLEMS: Final = 1_000
MOST_PROBLEMS: Final = 10_000
# Characters. Names of members are in the locations of all problems below them.
LONGEST_LOCATION: Final = 1_000


class BadFile(ProblemError):
    """A file, or part of it, that cannot be imported.

    `location` is a line, a JSON pointer or a byte offset inside the file, whichever is most precise.
    """

    def __init__(self, problem: str, location: str = "") -> None:
        super().__init__(problem, where=cut_location(location))
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem} ({self.where})" if self.where else self.problem

    def prefix_location(self, outer: str) -> "BadFile":
        """Return the same problem with the location of the enclosing file or line in front."""
        return BadFile(self.problem, f"{outer}, {self.where}" if self.where else outer)


class Problems(list[BadFile]):
    """Parts of a file that were not imported. The first problems are listed, the others only counted."""

    overflow_count = 0

    def append(self, problem: BadFile) -> None:
        """Add a problem. Raises `BadFile` beyond `MOST_PROBLEMS`."""
        if len(self) < LISTED_PROBLEMS:
            super().append(problem)
            return
        self.overflow_count += 1
        if len(self) + self.overflow_count > MOST_PROBLEMS:
            raise BadFile(
                f"more than {MOST_PROBLEMS} parts of this file cannot be read: the import of this file stopped",
                problem.where,
            )

    def extend(self, problems: Iterable[BadFile]) -> None:
        for problem in problems:
            self.append(problem)


def cut_location(location: str) -> str:
    """Leave out the middle of a location that is too long to be repeated for each problem."""
    half = LONGEST_LOCATION // 2
    return location if len(location) <= LONGEST_LOCATION else f"{location[:half]}…{location[-half:]}"
