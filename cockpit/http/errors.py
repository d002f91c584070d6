"""Errors as `application/problem+json`, with a code, a location and the request id."""

import errno
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple, cast, get_args

import structlog
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions as drf

from traces.collectors import refusals
from traces.collectors.back_pressure import RETRY_AFTER_S, ServerOverload
from traces.core.schema import ErrorCode, Problem
from traces.http.outages import name_outage

log = structlog.get_logger("cockpit.http.errors")
CONTENT_TYPE = "application/problem+json"
_CODES = frozenset(get_args(ErrorCode))
_LONGEST = 2_000
_NO_SPACE: Final = "a disk of the server is full: free space where it stores temporary files (TMPDIR) and data"
_NO_FILES: Final = "the server has too many open files: raise its limit (`ulimit -n`)"
_NO_PROCESSES: Final = "the server cannot start another process: its memory or its limit of processes is exhausted"
# By the error of the system, for what the server writes or starts outside of its database.
_SHORTAGES: Final = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EROFS: "a disk of the server is read-only: it must be able to write temporary files (TMPDIR) and data",
    errno.EMFILE: _NO_FILES,
    errno.ENFILE: _NO_FILES,
    errno.ENOMEM: _NO_PROCESSES,
    errno.EAGAIN: _NO_PROCESSES,
}


class ErrorDescription(NamedTuple):
    """An exception described for the API."""

    code: ErrorCode
    status: int
    detail: str
    location: str = ""
    retryable: bool = False
    # Seconds until the client should send the request again; 0 if that is unknown.
    wait: int = 0


def _from_own(error: Exception) -> ErrorDescription | None:
    """Describe one of our own exceptions, which have `code` and `status` (see `traces.errors`)."""
    code, status = getattr(error, "code", None), getattr(error, "status", None)
    if code not in _CODES or not isinstance(status, int):
        return None
    location, retryable = getattr(error, "where", ""), bool(getattr(error, "retryable", False))
    return ErrorDescription(cast(ErrorCode, code), status, str(error), location, retryable, _wait_of(error))


def _wait_of(error: Exception) -> int:
    return int(getattr(error, "wait", None) or 0)


def _from_drf(error: drf.APIException) -> ErrorDescription:
    codes: dict[int, ErrorCode] = {
        401: "auth_required",
        403: "auth_forbidden",
        404: "not_found",
        409: "conflict",
        413: "payload_too_large",
        429: "rate_limited",
        503: "dependency_unavailable",
    }
    fallback: ErrorCode = "validation_error" if error.status_code < 500 else "internal_error"
    return ErrorDescription(
        codes.get(error.status_code, fallback),
        error.status_code,
        str(error.detail),
        "",
        error.status_code in (429, 503),
        _wait_of(error),
    )


def describe(error: Exception) -> ErrorDescription:
    """Describe an exception for the caller. Unknown exceptions reveal no internals."""
    if own := _from_own(error):
        return own
    match error:
        case drf.APIException():
            return _from_drf(error)
        case Http404() | ObjectDoesNotExist():
            return ErrorDescription("not_found", 404, str(error) or "There is nothing at this address.")
        case PermissionDenied():
            return ErrorDescription("auth_forbidden", 403, str(error) or "This is not allowed.")
        case RequestDataTooBig():
            return ErrorDescription("payload_too_large", 413, "The request is larger than this server accepts.")
        case UnreadablePostError():
            return ErrorDescription(
                "validation_error", 400, "The request body was incomplete or did not arrive in time."
            )
        case SuspiciousOperation():
            return ErrorDescription("validation_error", 400, "The request is malformed.")
    if outage := _name_outage(error):
        return ErrorDescription("dependency_unavailable", 503, f"{outage}.", "", retryable=True)
    return ErrorDescription(
        "internal_error", 500, "An internal error occurred; the server log contains this request id."
    )


def _name_outage(error: Exception) -> str:
    """Return what the server lacks at the moment; nothing if that is not the cause."""
    match error:
        case OperationalError() | InterfaceError():
            return name_outage(error)
        case OSError(errno=number) if number in _SHORTAGES:
            return _SHORTAGES[number]
    return "Redis is unavailable or full" if _is_from_redis(error) else ""


def _is_from_redis(error: Exception) -> bool:
    """Tell whether Redis is away or full, without importing its slow client: a process without Redis never loads it."""
    redis = sys.modules.get("redis")
    return redis is not None and isinstance(error, redis.RedisError)


def _problem(description: ErrorDescription, request_id: str) -> Problem:
    return Problem(
        title=HTTPStatus(description.status).phrase,
        status=description.status,
        code=description.code,
        detail=_truncate(description.detail),
        where=_truncate(description.location),
        retryable=description.retryable,
        request_id=request_id,
    )


def _truncate(text: str) -> str:
    """Truncate details, which may quote long input."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def request_id(request: Any) -> str:
    return str(getattr(request, "request_id", ""))


def problem_response(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Exception handler of REST framework. A problem is always JSON, whatever the view renders."""
    description = describe(error)
    # Back-pressure is logged where it begins, and not for each request.
    if description.status >= 500 and not isinstance(error, ServerOverload):
        log.error("request_failed", code=description.code, exc_info=error)
    return problem_page(getattr(context["request"], "_request", None), description)


def problem_page(request: HttpRequest | None, description: ErrorDescription) -> HttpResponse:
    """Return a problem as its client expects it: collectors answer in the protocol of the client."""
    if request is not None and (response := refusals.respond(request, _refusal(description))) is not None:
        return response
    content = in_json(description, request_id(request))
    response = HttpResponse(content, status=description.status, content_type=CONTENT_TYPE)
    if wait := _retry_after_s(description):
        response["Retry-After"] = str(wait)
    return response


def _refusal(description: ErrorDescription) -> refusals.Refusal:
    wait = _retry_after_s(description)
    return refusals.Refusal(status=description.status, detail=_truncate(description.detail), wait=wait)


def _retry_after_s(description: ErrorDescription) -> int:
    return description.wait or (RETRY_AFTER_S if description.retryable else 0)


def in_json(description: ErrorDescription, request_id: str = "") -> bytes:
    return _problem(description, request_id).model_dump_json().encode()


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_page(request, describe(exception))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return problem_page(request, ErrorDescription("auth_forbidden", 403, reason))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem_page(request, ErrorDescription("not_found", 404, f"There is nothing at {request.path}."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Handle errors outside of REST framework's views."""
    error = sys.exception()
    return problem_page(request, describe(error if isinstance(error, Exception) else Exception()))
