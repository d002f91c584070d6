"""What can be wrong with a request for a report."""

from traces.problems import ProblemError


class DiffFailed(ProblemError):
    """The report could not be made; asking again tries again."""

    code = "internal_error"
    status = 500
    retryable = True


class TooManyAttempts(ProblemError):
    """Share links were opened too often from one address."""

    code = "rate_limited"
    status = 429
    retryable = True
    wait = 60


class SharingOff(ProblemError):
    """Nothing is shared from this server."""

    code = "conflict"
    status = 409
