"""Middleware: request ids, logging without payloads, and security headers."""

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from cockpit.http.errors import ErrorDescription, problem_page

# Longer than any address that the cockpit uses.
_LONGEST_QUERY = 32_768
log = structlog.get_logger("cockpit.request")
_SHARE_TOKEN = re.compile(r"(?<=/share/)[^/]+")
Handler = Callable[[HttpRequest], HttpResponse]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Inline styles are allowed, because component libraries set them on elements; inline scripts are not.
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


# Policies apply to documents. On the thirty files that a page loads, they would take a tenth of its bytes.
_PARTS = ("text/javascript", "text/css", "font/")


def request_ids(get_response: Handler) -> Handler:
    """Assign each request an id (the caller's, if valid) and log the request."""

    def handle(request: HttpRequest) -> HttpResponse:
        header = request.headers.get("X-Request-ID", "")
        request_id = header if _REQUEST_ID.fullmatch(header) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]  # ours, read by cockpit.http.errors
        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = get_response(request)
            log.debug(
                "request",
                method=request.method,
                path=path_without_token(request.path),
                status=response.status_code,
                ms=round((time.perf_counter() - began) * 1000, 1),
            )
        response["X-Request-ID"] = request_id
        return response

    return handle


def path_without_token(path: str) -> str:
    """Return a path for a log: who reads the token of a share link there could open the link."""
    return _SHARE_TOKEN.sub("…", path)


def bounded_queries(get_response: Handler) -> Handler:
    """Refuse overlong query strings."""

    def handle(request: HttpRequest) -> HttpResponse:
        length = len(request.META.get("QUERY_STRING", ""))
        if length > _LONGEST_QUERY:
            detail = f"The query string has {length} characters; the maximum is {_LONGEST_QUERY}."
            return problem_page(request, ErrorDescription("validation_error", 414, detail))
        return get_response(request)

    return handle


def security_headers(get_response: Handler) -> Handler:
    """Set security headers: no inline scripts, framing, sniffing or cross-site referrers; secure cookies over TLS.

    What a view does not declare cacheable is stored by no cache: it may be a payload, which would outlive the session
    of its reader there.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        if not response.get("Content-Type", "").startswith(_PARTS):
            response.headers.setdefault("Content-Security-Policy", _POLICY)
            response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response

    return handle
