"""What is wrong with a file that cannot be imported."""

from traces.problems import ProblemError


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
