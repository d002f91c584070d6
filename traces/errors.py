"""Errors that a caller can act on."""

from collections.abc import Sequence
from typing import ClassVar, Final

_MAX_PINS: Final = 5


class ProblemError(Exception):
    """Base of errors with a message for the caller; `where` is a pointer into the caller's input.

    `code` is one of the error codes of the REST interface, `status` its HTTP status.
    """

    code: ClassVar[str] = "validation_error"
    status: ClassVar[int] = 400
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str, *, where: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.where = where


class InvalidRecording(ProblemError):
    """A recording that cannot be stored."""


class InvalidQuery(ProblemError):
    """An invalid query parameter."""


class NotFound(ProblemError):
    """The requested object does not exist."""

    code = "not_found"
    status = 404


class Ambiguous(ProblemError):
    """A short reference that matches several runs."""

    def __init__(self, ref: str, matches: Sequence[str]) -> None:
        super().__init__(f"“{ref}” is ambiguous: it matches {', '.join(matches)}. Use a longer prefix.")
        self.matches = matches


class RunSealed(ProblemError):
    """An attempt to change a sealed run."""

    code = "conflict"
    status = 409


class RunInUse(ProblemError):
    """A run that is still referenced cannot be deleted."""

    code = "conflict"
    status = 409

    def __init__(self, pins: Sequence[str]) -> None:
        more = f" and {len(pins) - _MAX_PINS} more" if len(pins) > _MAX_PINS else ""
        super().__init__(f"nothing was deleted: the run is referenced by {', '.join(pins[:_MAX_PINS])}{more}")
        self.pins = pins


class NotYours(ProblemError):
    """An object that only its author may withdraw."""

    code = "auth_forbidden"
    status = 403


class NotSealed(ProblemError):
    """A run that is still being written."""

    code = "source_not_sealed"
    status = 409


class TooLarge(ProblemError):
    """Input beyond the limits."""

    code = "payload_too_large"
    status = 413


class ArtifactMissing(ProblemError):
    """A payload that a run refers to is not in the store."""

    code = "artifact_missing"
    status = 409

    def __init__(self, sha256: str, problem: str = "missing") -> None:
        super().__init__(f"artifact {sha256} is {problem}")
        self.sha256 = sha256


class ArtifactCorrupt(ProblemError):
    """The stored bytes of an artifact do not hash to its name."""

    code = "artifact_missing"
    status = 409

    def __init__(self, sha256: str, problem: str) -> None:
        super().__init__(f"artifact {sha256} is damaged: {problem}")
        self.sha256 = sha256


class StorageAway(ProblemError):
    """The storage of large artifacts does not respond; a retry may succeed."""

    code = "dependency_unavailable"
    status = 503
    retryable = True


class StoreBusy(ProblemError):
    """Others use the store all the time; a retry may succeed."""

    code = "dependency_unavailable"
    status = 503
    retryable = True


class StorageRefuses(ProblemError):
    """The storage of large artifacts rejects requests: credentials, bucket, permissions or space."""

    code = "dependency_unavailable"
    status = 503
