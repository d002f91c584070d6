"""Failures of commands and their exit codes."""

from enum import IntEnum
from typing import Any

import typer


class Exit(IntEnum):
    OK = 0
    ERROR = 1
    BAD_INPUT = 2
    AUTHENTICATION = 3
    NOT_FOUND = 4
    GATE = 5
    UNAVAILABLE = 6


_BY_CODE = {
    "auth_required": Exit.AUTHENTICATION,
    "auth_forbidden": Exit.AUTHENTICATION,
    "not_found": Exit.NOT_FOUND,
    "dependency_unavailable": Exit.UNAVAILABLE,
    "rate_limited": Exit.UNAVAILABLE,
    "conflict": Exit.ERROR,
    "internal_error": Exit.ERROR,
    "artifact_missing": Exit.ERROR,
    "strict": Exit.GATE,
}


# In place of the server's words, which are for programs that send requests.
_DETAILS = {"auth_required": "the server needs a valid token: name one with --token or FORKPOINT_TOKEN"}


class Failure(Exception):
    """A failure to show at the terminal: its message, exit code, error code and location in the input."""

    def __init__(self, detail: str, *, exit: Exit = Exit.ERROR, code: str = "", location: str = "") -> None:
        super().__init__(detail)
        self.exit = exit
        self.code = code
        self.location = location

    def as_json(self) -> dict[str, Any]:
        return {"error": {"code": self.code or self.exit.name.lower(), "detail": str(self), "where": self.location}}


def finish(exit: Exit) -> None:
    """Exit the command with this code."""
    if exit:
        raise typer.Exit(exit)


def exit_for(code: str) -> Exit:
    """Exit code for an error code of the API; all codes not listed are input errors."""
    return _BY_CODE.get(code, Exit.BAD_INPUT)


def failure_from_problem(problem: dict[str, Any], status: int) -> Failure:
    """Convert a `problem+json` response."""
    code = str(problem.get("code", ""))
    fallback = Exit.UNAVAILABLE if status in {502, 503, 504} else Exit.ERROR
    detail = _DETAILS.get(code) or str(
        problem.get("detail") or problem.get("title") or f"the server responded with {status}"
    )
    return Failure(detail, exit=exit_for(code) if code else fallback, code=code, location=str(problem.get("where", "")))
