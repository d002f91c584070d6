"""The cockpit's own addresses: signs of life and the way in."""

from collections.abc import Mapping
from typing import Final

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import Error as DatabaseError
from django.db import connection
from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit.celery import app
from cockpit.http import auth, tokens
from cockpit.http.schemas import Access, Health, LoginRequest, Readiness
from cockpit.process.dependency_checks import DependencyChecks
from traces import notify
from traces.errors import ProblemError
from traces.http.bodies import parse_body
from traces.http.responses import PROBLEMS
from traces.storage import artifact_files

log = structlog.get_logger("cockpit.ready")


class UnknownToken(ProblemError):
    """The token belongs to no user."""

    code = "auth_required"
    status = 401


def _check_database() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        # That of a thread which ends with the check.
        connection.close()


def _check_broker() -> None:
    with app.connection_for_write(connect_timeout=2) as broker:
        broker.ensure_connection(max_retries=1, timeout=2)
    # A Redis that is full, or a replica, still accepts connections. The cache lies in the same one.
    cache.set("ready", True, timeout=1)


CHECKS: Final = DependencyChecks(
    {"database": _check_database, "broker": _check_broker, "storage": artifact_files.check}
)


def _outcome(error: Exception | None, *, with_details: bool) -> str:
    if error is None:
        return "ok"
    return f"{error or type(error).__name__}" if with_details else "unavailable; see the server log"


def _note_errors(errors: Mapping[str, Exception | None]) -> None:
    for name, error in errors.items():
        if error is not None:
            log.warning("not_ready", dependency=name, error=f"{type(error).__name__}: {error}")


def _caller(request: Request) -> auth.Caller | None:
    return auth.caller_of({key.lower(): value for key, value in request.headers.items()}, request.session)


def _may_see_inside(request: Request) -> bool:
    """Return whether to show errors of dependencies: they reveal addresses and users, so only admins see them.

    During a database outage, they are hidden from everyone where a login is required.
    """
    try:
        caller = _caller(request)
    except DatabaseError:
        return False
    return caller is not None and auth.may(caller, "admin")


class HealthView(APIView):
    @extend_schema(operation_id="health", responses=Health)
    def get(self, request: Request) -> Response:
        """Report that the process is alive."""
        return Response(Health(status="ok", version=settings.VERSION))


class ReadyView(APIView):
    @extend_schema(operation_id="ready", responses={200: Readiness, 503: Readiness})
    def get(self, request: Request) -> Response:
        """Check the database, the broker and the artifact storage. Only admins see the errors."""
        errors = CHECKS.run()
        _note_errors(errors)
        # To find the caller, the database is asked.
        can_ask = not settings.LOGIN_REQUIRED or errors["database"] is None
        with_details = any(errors.values()) and can_ask and _may_see_inside(request)
        checks = {name: _outcome(error, with_details=with_details) for name, error in errors.items()}
        ready = not any(errors.values())
        return Response(Readiness(ready=ready, checks=checks), 200 if ready else 503)


def _access(request: Request) -> Access:
    caller = _caller(request)
    return Access(
        login_required=settings.LOGIN_REQUIRED,
        name=caller.name if caller else "",
        role=caller.role if caller else None,
    )


_ONLY_SENDS: Final = "This token can only send runs. Sign in with one that has the role viewer, debugger or admin."


class AccessView(APIView):
    @extend_schema(operation_id="access", responses=Access)
    def get(self, request: Request) -> Response:
        """Return the caller's identity. Also sets the CSRF cookie."""
        get_token(request)
        return Response(_access(request))


class LoginView(APIView):
    @extend_schema(operation_id="login", request=LoginRequest, responses={200: Access, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Exchange an API token for a session cookie."""
        auth.check_guesses(request._request)
        token = tokens.find(parse_body(LoginRequest, request.data).token.strip())
        if token is None:
            auth.count_guess(request._request)
            raise UnknownToken("This token is unknown or revoked.", where="/token")
        if token.role == "sender":
            raise auth.NotAllowed(_ONLY_SENDS, where="/token")
        request.session.cycle_key()
        request.session[auth.SESSION_KEY] = str(token.id)
        get_token(request)
        return Response(_access(request))


class LogoutView(APIView):
    @extend_schema(operation_id="logout", request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """End the session."""
        request.session.flush()
        notify.touch(notify.ACCESS)
        return Response(status=204)
