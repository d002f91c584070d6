"""Around every request: an id, a log line without payload, and the headers that keep a browser safe."""

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from cockpit.http.errors import Trouble, problem_page

# Longer than any address that the cockpit makes; the database is not asked for more.
_LONGEST_QUERY = 32_768
log = structlog.get_logger("cockpit.request")
Handler = Callable[[HttpRequest], HttpResponse]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Styles may be inline: component libraries set them on elements. Scripts may not.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


def request_ids(get_response: Handler) -> Handler:
    """Give each request an id, kept from the caller when it is well formed, and log how it went."""

    def handle(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]  # ours, read by cockpit.http.errors
        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = get_response(request)
            log.debug(
                "request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                ms=round((time.perf_counter() - began) * 1000, 1),
            )
        response["X-Request-ID"] = request_id
        return response

    return handle


def bounded_queries(get_response: Handler) -> Handler:
    """Refuse addresses whose query is longer than any that means something."""

    def handle(request: HttpRequest) -> HttpResponse:
        length = len(request.META.get("QUERY_STRING", ""))
        if length > _LONGEST_QUERY:
            detail = f"The query of this address has {length} characters: {_LONGEST_QUERY} are the most."
            return problem_page(request, Trouble("validation_error", 414, detail))
        return get_response(request)

    return handle


def security_headers(get_response: Handler) -> Handler:
    """No inline script, no framing, no sniffing, no referrer to other sites; cookies given over TLS stay on it."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", _POLICY)
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response

    return handle
