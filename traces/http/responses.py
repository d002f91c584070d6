"""Shared OpenAPI parameters and request properties."""

from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from traces.core.schema import Problem
from traces.errors import ProblemError
from traces.http.idempotency import HEADER, MAX_KEY_LENGTH, Key

KEY: Final = OpenApiParameter(
    HEADER,
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="A repeated request with the same key returns the first result; a different request is a conflict.",
)
PROBLEMS: Final[dict[Any, Any]] = {("default", "application/problem+json"): Problem}


def query(name: str, description: str) -> OpenApiParameter:
    """Describe an optional query parameter."""
    return OpenApiParameter(name, str, description=description)


def path(name: str, description: str) -> OpenApiParameter:
    """Describe a path parameter."""
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


class InvalidKey(ProblemError):
    """An idempotency key that is too long."""

    status = 422


def key_of(request: Request) -> Key | None:
    """Return the request's idempotency key with its caller; raise `InvalidKey`."""
    text = request.headers.get(HEADER, "")
    if len(text) > MAX_KEY_LENGTH:
        raise InvalidKey(f"the idempotency key has {len(text)} characters, more than {MAX_KEY_LENGTH}", where=HEADER)
    return Key(text=text, caller=caller_of(request)) if text else None


def caller_of(request: Request) -> str:
    """Return the caller's name from the access control; empty if not signed in."""
    return str(getattr(request._request, "caller_name", ""))


def role_of(request: Request) -> str:
    """Return the caller's role from the access control; empty if not signed in."""
    return str(getattr(request._request, "caller_role", ""))


class AdminOnly(ProblemError):
    """A request that only an admin may make."""

    code = "auth_forbidden"
    status = 403


def is_admin(request: Request) -> bool:
    """Whether the access control knows the caller as an admin."""
    return role_of(request) == "admin"


def require_admin(request: Request) -> None:
    """Raise `AdminOnly` unless the caller is an admin."""
    if not is_admin(request):
        raise AdminOnly(f"This needs the role admin; {caller_of(request) or 'you'} cannot do it.")
