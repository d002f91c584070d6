"""What the answers of the REST interface have in common."""

from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter

from traces.schemas import Problem

PROBLEMS: Final[dict[Any, Any]] = {("default", "application/problem+json"): Problem}


def query(name: str, description: str) -> OpenApiParameter:
    """An optional query parameter, given as text."""
    return OpenApiParameter(name, str, description=description)


def path(name: str, description: str) -> OpenApiParameter:
    """A part of the address."""
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)
