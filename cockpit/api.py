"""The cockpit's own addresses: signs of life and the way in."""

from django.conf import settings
from django.db import connection
from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit import auth, tokens
from cockpit.celery import app
from cockpit.schemas import Access, Health, LoginRequest, Readiness
from traces import artifact_files
from traces.bodies import parsed
from traces.problems import ProblemError
from traces.responses import PROBLEMS


class UnknownToken(ProblemError):
    """Nobody can log in with it."""

    code = "auth_required"
    status = 401


def _check_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _check_broker() -> None:
    with app.connection_for_write(connect_timeout=2) as broker:
        broker.ensure_connection(max_retries=1, timeout=2)


_CHECKS = {"database": _check_database, "broker": _check_broker, "storage": artifact_files.check}


def _outcome(name: str) -> str:
    try:
        _CHECKS[name]()
    except Exception as error:  # noqa: BLE001  # whatever is wrong with a dependency is the answer here
        return f"{type(error).__name__}: {error}"
    return "ok"


class HealthView(APIView):
    @extend_schema(operation_id="health", responses=Health)
    def get(self, request: Request) -> Response:
        """The process is alive."""
        return Response(Health(status="ok", version=settings.VERSION))


class ReadyView(APIView):
    @extend_schema(operation_id="ready", responses={200: Readiness, 503: Readiness})
    def get(self, request: Request) -> Response:
        """The database, the broker and the artifact storage answer."""
        checks = {name: _outcome(name) for name in _CHECKS}
        ready = set(checks.values()) == {"ok"}
        return Response(Readiness(ready=ready, checks=checks), 200 if ready else 503)


def _access(request: Request) -> Access:
    headers = {key.lower(): value for key, value in request.headers.items()}
    caller = auth.caller_of(headers, request.session)
    return Access(
        login_required=settings.LOGIN_REQUIRED,
        name=caller.name if caller else "",
        role=caller.role if caller else None,
    )


class AccessView(APIView):
    @extend_schema(operation_id="access", responses=Access)
    def get(self, request: Request) -> Response:
        """Who the caller is. Also sets the CSRF cookie."""
        get_token(request)
        return Response(_access(request))


class LoginView(APIView):
    @extend_schema(operation_id="login", request=LoginRequest, responses={200: Access, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Exchange an API token for a session cookie."""
        token = tokens.find(parsed(LoginRequest, request.data).token.strip())
        if token is None:
            raise UnknownToken("This token is unknown or revoked.", where="/token")
        request.session.cycle_key()
        request.session[auth.SESSION_KEY] = str(token.id)
        get_token(request)
        return Response(_access(request))


class LogoutView(APIView):
    @extend_schema(operation_id="logout", request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """End the session."""
        request.session.flush()
        return Response(status=204)
