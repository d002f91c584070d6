"""JSON parser and renderer of the REST API."""

from collections.abc import Mapping
from typing import IO, Any

import orjson
from django.http import HttpRequest
from pydantic import BaseModel
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from traces.core import duplicate_keys
from traces.core.canonical import MAX_DEPTH
from traces.errors import ProblemError
from traces.http.json_pointers import find_deep_part


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return str(value)


class TooDeep(ProblemError):
    """The body exceeds the maximum nesting depth."""

    status = 422


class RepeatedKey(ProblemError):
    """An object of the body has a duplicate key; one of the values would be lost."""

    status = 422


class OrjsonRenderer(BaseRenderer):
    """Renders pydantic models, dataclasses, times and ids."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=_plain, option=orjson.OPT_NON_STR_KEYS)


class OrjsonParser(BaseParser):
    """Parses strict JSON without NaN and with a maximum depth; errors name their position."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any] | HttpRequest,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = stream.read()
        try:
            value: Any = orjson.loads(body) if body else {}
        except orjson.JSONDecodeError as error:
            raise ParseError(f"The body is not JSON: {error}") from error
        if (pointer := find_deep_part(value, MAX_DEPTH)) is not None:
            raise TooDeep(f"The body is nested deeper than {MAX_DEPTH} levels.", where=pointer)
        if (twice := duplicate_keys.find(body, value)) is not None:
            raise RepeatedKey(f"In the body, {twice}.", where=twice.pointer or "/")
        return value
