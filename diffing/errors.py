"""Problems of requests for reports."""

from traces.errors import ProblemError


class DiffFailed(ProblemError):
    """The comparison failed. Requesting the diff again starts another attempt."""

    code = "internal_error"
    status = 500
    retryable = True


class ReportDeleted(ProblemError):
    """A report whose content was deleted together with a run that it compares."""

    code = "not_found"
    status = 410
