"""Refusals in the protocol of the client that sent a request, which it finds by the address."""

from dataclasses import dataclass
from typing import Final

import orjson
from django.http import HttpRequest, HttpResponse

from traces.collectors.back_pressure import RETRY_AFTER_S
from traces.collectors.rpc_status import status_of
from traces.errors import ProblemError

_OTLP: Final = ("/v1/", "/otel/", "/api/public/otel/", "/langsmith/otel/")
_LANGFUSE: Final = ("/api/public/", "/langfuse-media/")
_LANGSMITH: Final = ("/langsmith/",)
_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_LANGFUSE_ERRORS: Final = {
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "LangfuseNotFoundError",
    405: "MethodNotAllowedError",
    413: "PayloadTooLargeError",
    415: "UnsupportedMediaTypeError",
    429: "RateLimitError",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a request is refused; `wait` is the number of seconds after which to send it again, or 0."""

    status: int
    detail: str
    wait: int = 0


def refusal_of(problem: ProblemError) -> Refusal:
    wait = int(getattr(problem, "wait", RETRY_AFTER_S)) if problem.retryable else 0
    return Refusal(status=problem.status, detail=str(problem), wait=wait)


def respond(request: HttpRequest, refusal: Refusal) -> HttpResponse | None:
    """Return the response in the client's protocol; None for an address of no collector."""
    path = request.path
    if path.startswith(_OTLP):
        response = _otlp(refusal, is_json=request.content_type == _JSON)
    elif path.startswith(_LANGFUSE):
        error = _LANGFUSE_ERRORS.get(refusal.status, "InvalidRequestError")
        response = _json({"message": refusal.detail, "error": error}, refusal.status)
    elif path.startswith(_LANGSMITH):
        response = _json({"detail": refusal.detail}, refusal.status)
    else:
        return None
    if refusal.wait:
        response["Retry-After"] = str(refusal.wait)
    return response


def _otlp(refusal: Refusal, *, is_json: bool) -> HttpResponse:
    status = status_of(refusal.status, refusal.detail, wait=refusal.wait)
    if is_json:
        return _json({"code": status.code, "message": status.message}, refusal.status)
    return HttpResponse(status.SerializeToString(), status=refusal.status, content_type=_PROTOBUF)


def _json(content: object, status: int) -> HttpResponse:
    return HttpResponse(orjson.dumps(content), status=status, content_type=_JSON)
