"""The root of every error that a caller can do something about."""

from collections.abc import Sequence
from typing import ClassVar, Final

_SHOWN: Final = 5


class ProblemError(Exception):
    """What happened, in words for the caller; `where` points into what the caller gave.

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
    """A recording that cannot be stored as it is."""


class InvalidQuery(ProblemError):
    """A query parameter that means nothing."""


class NotFound(ProblemError):
    """There is no such thing."""

    code = "not_found"
    status = 404


class Ambiguous(ProblemError):
    """A short reference that fits several runs."""

    def __init__(self, ref: str, matches: Sequence[str]) -> None:
        super().__init__(f"{ref!r} fits several runs: {', '.join(matches)}; give more of it")
        self.matches = matches


class RunConflict(ProblemError):
    """Another recording is stored under the same identity; neither is changed."""

    code = "conflict"
    status = 409

    def __init__(self, *, app: str, external_id: str, run_id: object, stored: str, given: str) -> None:
        super().__init__(
            f"run {external_id!r} of app {app!r} is stored already (as {run_id}) with other content: "
            f"stored {stored[:12]}, given {given[:12]}. Imported under another app, both are kept."
        )


class RunSealed(ProblemError):
    """A sealed run never changes."""

    code = "conflict"
    status = 409


class Pinned(ProblemError):
    """A run that is cited cannot be deleted before what cites it."""

    code = "conflict"
    status = 409

    def __init__(self, pins: Sequence[str]) -> None:
        more = f" and {len(pins) - _SHOWN} more" if len(pins) > _SHOWN else ""
        super().__init__(f"nothing was deleted, because it is pinned by {', '.join(pins[:_SHOWN])}{more}")
        self.pins = pins


class NotYours(ProblemError):
    """Something that only its author may take back."""

    code = "auth_forbidden"
    status = 403


class NotSealed(ProblemError):
    """A run that is still being written."""

    code = "source_not_sealed"
    status = 409


class TooLarge(ProblemError):
    """More than the limits allow."""

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
    """The storage of large artifacts does not answer now; the same again may succeed later."""

    code = "dependency_unavailable"
    status = 503
    retryable = True


class StorageRefuses(ProblemError):
    """The storage of large artifacts cannot be used as it is: credentials, bucket, permissions, space."""

    code = "dependency_unavailable"
    status = 503
