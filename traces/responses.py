"""What the answers of the REST interface have in common."""

from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from traces.once import LONGEST, WHERE, Key
from traces.problems import ProblemError
from traces.schemas import Problem

KEY: Final = OpenApiParameter(
    WHERE, OpenApiTypes.STR, OpenApiParameter.HEADER,
    description="The same key again answers with what it made; another request under it is a conflict.",
)  # fmt: skip
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


def key_of(request: Request) -> str | None:
    """The idempotency key; raises `InvalidKey`."""
    key = request.headers.get(WHERE)
    if key is not None and len(key) > LONGEST:
        detail = f"the idempotency key has {len(key)} characters: {LONGEST} are the most"
        raise InvalidKey(detail, where=WHERE)
    return key or None


def callers_key(request: Request) -> Key | None:
    """The idempotency key, with whose it is."""
    key = key_of(request)
    return None if key is None else Key(text=key, caller=caller_of(request))


def caller_of(request: Request) -> str:
    """Who asks, as the access control found out; empty: nobody who is signed in."""
    return str(getattr(request._request, "caller_name", ""))
