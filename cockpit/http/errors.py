"""Every error leaves as `application/problem+json`, with a code, a place and the request's id."""

import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, cast, get_args

import redis
import structlog
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions as drf

from traces.core.schema import ErrorCode, Problem

log = structlog.get_logger("cockpit.http.errors")
CONTENT_TYPE = "application/problem+json"
_CODES = frozenset(get_args(ErrorCode))
_LONGEST = 2_000


class Trouble(NamedTuple):
    """What is known of an exception once it is put in the words of the interface."""

    code: ErrorCode
    status: int
    detail: str
    where: str = ""
    retryable: bool = False


def _of_own(error: Exception) -> Trouble | None:
    """Our own exceptions carry `code` and `status`; see `traces.errors`."""
    code, status = getattr(error, "code", None), getattr(error, "status", None)
    if code not in _CODES or not isinstance(status, int):
        return None
    return Trouble(
        cast(ErrorCode, code), status, str(error), getattr(error, "where", ""), bool(getattr(error, "retryable", False))
    )


def _of_drf(error: drf.APIException) -> Trouble:
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
    return Trouble(
        codes.get(error.status_code, fallback),
        error.status_code,
        str(error.detail),
        "",
        error.status_code in (429, 503),
    )


def describe(error: Exception) -> Trouble:
    """What to tell the caller. What is not known tells nothing of the inside."""
    if own := _of_own(error):
        return own
    match error:
        case drf.APIException():
            return _of_drf(error)
        case Http404() | ObjectDoesNotExist():
            return Trouble("not_found", 404, str(error) or "There is nothing at this address.")
        case PermissionDenied():
            return Trouble("auth_forbidden", 403, str(error) or "This is not allowed.")
        case RequestDataTooBig():
            return Trouble("payload_too_large", 413, "The request is larger than this server accepts.")
        case UnreadablePostError():
            return Trouble("validation_error", 400, "The body of the request broke off, or did not come in time.")
        case SuspiciousOperation():
            return Trouble("validation_error", 400, "The request is malformed.")
        case OperationalError() | InterfaceError():
            return Trouble("dependency_unavailable", 503, "The database did not answer.", "", retryable=True)
        case redis.ConnectionError() | redis.TimeoutError():
            return Trouble("dependency_unavailable", 503, "Redis did not answer.", "", retryable=True)
    return Trouble("internal_error", 500, "Something went wrong on the server; its log has this request's id.")


def _problem(trouble: Trouble, request_id: str) -> Problem:
    return Problem(
        title=HTTPStatus(trouble.status).phrase,
        status=trouble.status,
        code=trouble.code,
        detail=_clipped(trouble.detail),
        where=_clipped(trouble.where),
        retryable=trouble.retryable,
        request_id=request_id,
    )


def _clipped(text: str) -> str:
    """Details quote what was sent, which can be long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def request_id(request: Any) -> str:
    return str(getattr(request, "request_id", ""))


def problem_response(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """REST framework's exception handler. A problem is JSON, whatever else the view can write."""
    trouble = describe(error)
    if trouble.status >= 500:
        log.error("request_failed", code=trouble.code, exc_info=error)
    response = problem_page(getattr(context["request"], "_request", None), trouble)
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = str(int(wait))
    return response


def problem_page(request: HttpRequest | None, trouble: Trouble) -> HttpResponse:
    return HttpResponse(in_json(trouble, request_id(request)), status=trouble.status, content_type=CONTENT_TYPE)


def in_json(trouble: Trouble, request_id: str = "") -> bytes:
    return _problem(trouble, request_id).model_dump_json().encode()


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_page(request, describe(exception))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return problem_page(request, Trouble("auth_forbidden", 403, reason))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem_page(request, Trouble("not_found", 404, f"There is nothing at {request.path}."))


def server_error(request: HttpRequest) -> HttpResponse:
    """For what was raised before a view ran, or in one that is not REST framework's."""
    error = sys.exception()
    return problem_page(request, describe(error if isinstance(error, Exception) else Exception()))
