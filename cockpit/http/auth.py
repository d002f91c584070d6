"""Authentication and roles of all API requests."""

import base64
import io
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from a2wsgi.wsgi import build_environ
from django.conf import settings
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.wsgi import WSGIRequest
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from cockpit.http import gateway_sessions, tokens
from cockpit.http.errors import ErrorDescription, describe, problem_page
from cockpit.http.gateway_sessions import Session
from cockpit.http.schemas import Role
from traces.errors import ProblemError
from traces.http.throttling import TooManyRequests, Window

Handler = Callable[[HttpRequest], HttpResponse]

API = "/api/v1"
# The path that Prometheus asks for by default.
METRICS = "/metrics"
SESSION_KEY = "token"
# A sender records runs and reads nothing.
_RANK: dict[Role, int] = {"sender": 0, "viewer": 1, "debugger": 2, "admin": 3}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_SITES = frozenset({"cross-site", "same-site"})
_OTHER_SITE = "This request came from a page of another site."
# Public: health, login, the API description, and shared reports.
_OPEN = tuple(f"{API}/{name}" for name in ("health", "ready", "login", "logout", "access", "schema", "docs", "share/"))
# Addresses that the protocols of tracers fix; all of them record.
_COLLECTORS = ("/v1/", "/otel/", "/langsmith/", "/api/public/")
# What their clients ask before they send, some of them without a key.
_OPEN_COLLECTORS = ("/api/public/health", "/langsmith/info")
# Uploads that are authorized by a signature in their address.
_SIGNED_UPLOADS = "/langfuse-media/"
# Sign-ins and comments of visitors are shorter.
_LONGEST_PUBLIC_BODY = 64 * 1024
# Public, but the caller matters.
_KNOWN_CALLER = f"{API}/share/"
_ADMIN = tuple(
    f"{API}/{name}"
    for name in (
        "tokens",
        "tools",
        "retrievers",
        "settings",
        "providers",
        "redaction-policies",
        "retention",
        "outcome-rules",
    )
)
# Reads for admins only: results of test calls, tokens and the configuration.
_ADMIN_READS = tuple(f"{API}/{name}" for name in ("trials", "tokens", "settings"))
# POST requests without effects.
_READING_POSTS = frozenset(
    f"{API}/{name}" for name in ("replays/preview", "experiments/preview", "bisections/preview", "retention/plan")
)
# Tokens cannot be guessed; the limit only saves the cost of checking guesses. Valid tokens always pass.
GUESSES = Window(name="token-guesses", limit=20, seconds=60)
_TOO_MANY_GUESSES = "too many failed sign-ins from this address; wait a minute"
# A sender also asks how much of a file is stored before it sends more.
_SESSION_FILES = re.compile(rf"{API}/session-files/[^/]+/[^/]+")
_EVENTS = re.compile(rf"{API}/(events|krabs/events|runs(/[^/]+/(events|finalize))?)|{_SESSION_FILES.pattern}")
# What the SDK in a running agent sends for it.
_AGENT_ROUTES = ("tools", "events", "hosts")
_PROOF_PREVIEW = re.compile(rf"{API}/diffs/[0-9a-f-]+/prove/preview")


@dataclass(frozen=True, kw_only=True)
class Caller:
    name: str
    role: Role


LOCAL = Caller(name="local", role="admin")
# Programs that this process has started, by their tokens: these are stored nowhere, and end with the process.
_programs: dict[str, Caller] = {}


def add_program(name: str, role: Role) -> str:
    """Return a token for a program that this process starts."""
    token = tokens.PREFIX + secrets.token_urlsafe(32)
    _programs[token] = Caller(name=name, role=role)
    return token


def remove_program(token: str) -> None:
    """Revoke the token of a program."""
    _programs.pop(token, None)


def caller_of(headers: Mapping[str, str], session: Any) -> Caller | None:
    """Return the caller by bearer token or login; None if there is neither, or the token is that of a program."""
    secret = _secret(headers)
    if _gateway_session(secret) is not None:
        return None
    if not settings.LOGIN_REQUIRED:
        return LOCAL
    if secret:
        if (program := _programs.get(secret)) is not None:
            return program
        token = tokens.find(secret)
    elif token_id := session.get(SESSION_KEY):
        token = tokens.find_by_id(token_id)
    else:
        return None
    return Caller(name=token.name, role=cast(Role, token.role)) if token else None


def _gateway_session(secret: str) -> Session | None:
    """Return the session of the gateway that a token is; None if there is none, or another one."""
    return None if not secret or secret.startswith(tokens.PREFIX) else gateway_sessions.find(secret)


def _program_caller(session: Session, method: str, path: str) -> Caller:
    """Return the program of a session of the gateway, which may only report and ask for itself; raise `NotAllowed`.

    With anything more, an agent could answer questions about its own calls.
    """
    start = f"{API}/reruns/{session.run_id}.{session.attempt}"
    paths = [f"{start}/{name}" for name in _AGENT_ROUTES] if session.is_rerun else [f"{API}/events"]
    if method != "POST" or path not in paths:
        raise NotAllowed("This is the credential of an agent: it is accepted for its own session only.")
    return Caller(name=f"agent of {session.run_id}", role="sender")


def _secret(headers: Mapping[str, str]) -> str:
    """Return the token of a request: a bearer, or as Langfuse (Basic) and LangSmith clients send their keys."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        return _basic_secret(value)
    return headers.get("x-api-key", "").strip()


def _basic_secret(value: str) -> str:
    """Return the secret key of a Langfuse key pair; the public key may be anything."""
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def required_role(method: str, path: str) -> Role | None:
    """Return the minimum role for a request; None if it is public."""
    if path.startswith(_COLLECTORS):
        return None if path in _OPEN_COLLECTORS else "sender"
    if path == METRICS:
        return "viewer"
    if not path.startswith("/api/") or path.startswith(_OPEN):
        return None
    if path.startswith(_ADMIN_READS):
        return "admin"
    is_sent = method == "POST" and _EVENTS.fullmatch(path.rstrip("/"))
    if is_sent or (method == "GET" and _SESSION_FILES.fullmatch(path.rstrip("/"))):
        return "sender"
    if method in _SAFE or path.rstrip("/") in _READING_POSTS or _PROOF_PREVIEW.fullmatch(path.rstrip("/")):
        return "viewer"
    return "admin" if path.startswith(_ADMIN) else "debugger"


def may(caller: Caller, role: Role) -> bool:
    if role == "sender":
        return caller.role != "viewer"
    return _RANK[caller.role] >= _RANK[role]


def foreign_origin(origin: str | None, host: str) -> bool:
    """True if a browser sends the request for a page of another site. Programs send no Origin."""
    return origin is not None and urlsplit(origin).netloc.lower() != host.lower()


def _is_from_other_site(headers: Mapping[str, str], host: str) -> bool:
    """True if a browser sends the request for a page of another site, by what pages cannot change."""
    return foreign_origin(headers.get("origin"), host) or headers.get("sec-fetch-site") in _OTHER_SITES


class LoginRequired(ProblemError):
    """A request without a valid token or login."""

    code = "auth_required"
    status = 401


class NotAllowed(ProblemError):
    """A request that its caller may not make."""

    code = "auth_forbidden"
    status = 403


def authenticate(headers: Mapping[str, str], session: Any, *, role: Role, address: str) -> Caller:
    """Return the caller; raise `LoginRequired`, `NotAllowed`, or `TooManyRequests` after too many wrong tokens."""
    caller = caller_of(headers, session)
    if caller is None:
        if _has_key(headers):
            GUESSES.count(address, _TOO_MANY_GUESSES)
        raise LoginRequired("Sign in, or send a token as `Authorization: Bearer …`.")
    if not may(caller, role):
        raise NotAllowed(f"This needs the {role} role; {caller.name} has the {caller.role} role.")
    return caller


def _has_key(headers: Mapping[str, str]) -> bool:
    return "authorization" in headers or "x-api-key" in headers


def _check_origin(request: HttpRequest, headers: Mapping[str, str]) -> None:
    if _is_from_other_site(headers, request.get_host()):
        raise NotAllowed(_OTHER_SITE)
    # A cookie alone does not prove that the user made the request.
    if not settings.LOGIN_REQUIRED or _secret(headers) or SESSION_KEY not in request.session:
        return
    check = CsrfViewMiddleware(lambda _: HttpResponse())
    check.process_request(request)
    if check.process_view(request, lambda *_: HttpResponse(), (), {}) is not None:
        raise NotAllowed("The CSRF token is missing or wrong: send it back as X-CSRFToken.")


def _check(request: HttpRequest) -> None:
    """Raise a `ProblemError` if the caller may not make this request; else note the caller's name."""
    method = request.method or "GET"
    headers = {key.lower(): value for key, value in request.headers.items()}
    if method not in _SAFE:
        _check_origin(request, headers)
    # A page cannot read the answer, but it sees whether and when there is one. People may follow links.
    elif headers.get("sec-fetch-mode") != "navigate" and _is_from_other_site(headers, request.get_host()):
        raise NotAllowed(_OTHER_SITE)
    role = required_role(method, request.path)
    if role is not None:
        if session := _gateway_session(_secret(headers)):
            caller = _program_caller(session, method, request.path)
        else:
            caller = authenticate(headers, request.session, role=role, address=address_of(request))
        request.caller_name = caller.name  # type: ignore[attr-defined]  # recorded as the author
        request.caller_role = caller.role  # type: ignore[attr-defined]  # for views that admins use differently
    elif request.path.startswith(_KNOWN_CALLER):
        visitor = caller_of(headers, request.session)
        # Used by links for signed-in users. A sender reads nothing, shared or not.
        request.caller_name = visitor.name if visitor and may(visitor, "viewer") else ""  # type: ignore[attr-defined]


def access_control(get_response: Handler) -> Handler:
    """Check the caller's permissions before any view runs."""

    def handle(request: HttpRequest) -> HttpResponse:
        refusal = _refusal_response(request)
        return get_response(request) if refusal is None else refusal

    return handle


def early_refusal(scope: dict[str, Any]) -> tuple[int, list[tuple[bytes, bytes]], bytes] | None:
    """Return the refusal of a request by its headers, so that the body of a refused request is not read."""
    request = WSGIRequest(cast(Any, build_environ(cast(Any, scope), cast(Any, io.BytesIO()))))
    SessionMiddleware(lambda _: HttpResponse()).process_request(request)
    try:
        response = _refusal_response(request) or _refused_body(request)
    except (SuspiciousOperation, DatabaseError):
        # The error is handled with the request.
        return None
    if response is None:
        return None
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    return response.status_code, headers, response.content


def _refused_body(request: WSGIRequest) -> HttpResponse | None:
    """Refuse a long body, or one without a length, to a public address: anyone could fill the server with them."""
    path, length = request.path, request.META.get("CONTENT_LENGTH", "")
    if path.startswith(_SIGNED_UPLOADS) or required_role(request.method or "GET", path) is not None:
        return None
    if length.isdecimal() and int(length) <= _LONGEST_PUBLIC_BODY:
        return None
    detail = f"Without a token, a request may have a body of {_LONGEST_PUBLIC_BODY:,} bytes, and states its length."
    return problem_page(request, ErrorDescription("payload_too_large", 413, detail))


def _refusal_response(request: HttpRequest) -> HttpResponse | None:
    try:
        _check(request)
    except ProblemError as problem:
        response = problem_page(request, describe(problem))
        if problem.status == 401:
            response["WWW-Authenticate"] = "Bearer"
        return response
    return None


def address_of(request: HttpRequest) -> str:
    """Return the client address from a trusted proxy, or from the connection."""
    return str(request.META.get("REMOTE_ADDR", ""))


def count_guess(request: HttpRequest) -> None:
    """Count a wrong token; raises `TooManyRequests` above the limit."""
    GUESSES.count(address_of(request), _TOO_MANY_GUESSES)


def check_guesses(request: HttpRequest) -> None:
    """Raise `TooManyRequests` if too many wrong tokens came from this address."""
    if GUESSES.is_full(address_of(request)):
        raise TooManyRequests(_TOO_MANY_GUESSES, wait=GUESSES.seconds)
