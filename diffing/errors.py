"""What can be wrong with a request for a report."""

from traces.errors import ProblemError


class DiffFailed(ProblemError):
    """The report could not be made; asking again tries again."""

    code = "internal_error"
    status = 500
    retryable = True


class SharingOff(ProblemError):
    """Nothing is shared from this server."""

    code = "conflict"
    status = 409
