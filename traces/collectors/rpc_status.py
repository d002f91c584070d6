"""Refusals as a `google.rpc.Status`, with the time after which to send a request again."""

from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

_CODES: Final = {
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.NOT_FOUND,
    405: Code.UNIMPLEMENTED,
    408: Code.DEADLINE_EXCEEDED,
    429: Code.RESOURCE_EXHAUSTED,
    500: Code.INTERNAL,
    503: Code.UNAVAILABLE,
}
# gRPC sends it in a header.
_LONGEST: Final = 500


def status_of(http_status: int, detail: str, *, wait: int) -> Status:
    """Describe a refusal. Exporters send a request again only if the status contains a `RetryInfo`."""
    status = Status(code=_CODES.get(http_status, Code.INVALID_ARGUMENT), message=detail[:_LONGEST])
    if wait:
        status.details.add().Pack(retry_info(wait))
    return status


def retry_info(wait: int) -> RetryInfo:
    return RetryInfo(retry_delay=Duration(seconds=wait))
