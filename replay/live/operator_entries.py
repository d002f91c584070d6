"""Entries of the operator's settings, such as one tool of `FORKPOINT_TOOLS`."""

from typing import TypeVar

import pydantic
from django.core.exceptions import ImproperlyConfigured

EntryT = TypeVar("EntryT", bound=pydantic.BaseModel)


def parse_entry(kind: type[EntryT], location: str, value: object) -> EntryT:
    """Return an entry; raises `ImproperlyConfigured` that names the place of the first problem."""
    try:
        return kind.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f".{part}" for part in first["loc"])
        raise ImproperlyConfigured(f"{location}{place}: {first['msg'].removeprefix('Value error, ')}.") from error
