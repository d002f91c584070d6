"""What the answers of the REST interface have in common."""

from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from traces.core.schema import Problem
from traces.errors import ProblemError
from traces.http.idempotency import LONGEST, WHERE, Key

KEY: Final = OpenApiParameter(
    WHERE,
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The same key again answers with what it made; another request under it is a conflict.",
)
PROBLEMS: Final[dict[Any, Any]] = {("default", "application/problem+json"): Problem}


def query(name: str, description: str) -> OpenApiParameter:
    """An optional query parameter, given as text."""
    return OpenApiParameter(name, str, description=description)


def path(name: str, description: str) -> OpenApiParameter:
    """A part of the address."""
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


class InvalidKey(ProblemError):
    """An idempotency key that is too long to keep."""

    status = 422


def key_of(request: Request) -> Key | None:
    """The idempotency key, with whose it is; raises `InvalidKey`."""
    text = request.headers.get(WHERE, "")
    if len(text) > LONGEST:
        raise InvalidKey(f"the idempotency key has {len(text)} characters: {LONGEST} are the most", where=WHERE)
    return Key(text=text, caller=caller_of(request)) if text else None


def caller_of(request: Request) -> str:
    """Who asks, as the access control found out; empty: nobody who is signed in."""
    return str(getattr(request._request, "caller_name", ""))
