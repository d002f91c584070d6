"""Compression of responses: JSON of a long run shrinks to a tenth."""

import re
import zlib
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from traces.storage.compression import compress

Handler = Callable[[HttpRequest], HttpResponseBase]

# In bytes; smaller responses fit one packet anyway.
_MIN_SIZE: Final = 1024
_TYPES: Final = re.compile(r"text/|application/([a-z.+-]*\+)?(json|xml|yaml|x-ndjson)\b", re.IGNORECASE)
_REFUSAL: Final = re.compile(r"q=0(\.0*)?\s*$")
_GZIP_LEVEL: Final = 4
# A window of 2**15 with the header and checksum of gzip.
_GZIP_WINDOW: Final = 31


def compress_responses(get_response: Handler) -> Handler:
    """Compress text and JSON by an encoding that the client accepts; zstd before gzip."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if _is_compressible(response):
            patch_vary_headers(response, ("Accept-Encoding",))
            if encoding := choose_encoding(request.headers.get("Accept-Encoding", "")):
                _compress(response, encoding)
        return response

    return handle


def choose_encoding(header: str) -> str:
    """Return `zstd`, `gzip` or nothing, by an `Accept-Encoding` header."""
    accepted_names = {name.strip() for name, _, weight in _entries(header) if not _REFUSAL.match(weight.strip())}
    return next((name for name in ("zstd", "gzip") if name in accepted_names), "")


def _entries(header: str) -> list[tuple[str, str, str]]:
    return [entry.lower().partition(";") for entry in header.split(",")]


def _is_compressible(response: HttpResponseBase) -> bool:
    return (
        not response.streaming
        and not response.has_header("Content-Encoding")
        and len(response.content) >= _MIN_SIZE  # type: ignore[attr-defined]  # it is not streaming
        and _TYPES.match(response.get("Content-Type", "")) is not None
    )


def _compress(response: HttpResponseBase, encoding: str) -> None:
    content: bytes = response.content  # type: ignore[attr-defined]  # as above
    data = compress(content) if encoding == "zstd" else _gzip(content)
    response.content = data  # type: ignore[attr-defined]
    response["Content-Encoding"] = encoding
    response["Content-Length"] = str(len(data))
    # The bytes differ from those that a strong tag names.
    if (tag := response.get("ETag", "")).startswith('"'):
        response["ETag"] = f"W/{tag}"


def _gzip(content: bytes) -> bytes:
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return compressor.compress(content) + compressor.flush()
