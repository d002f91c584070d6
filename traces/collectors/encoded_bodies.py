"""Request bodies of collectors: read and decompressed, with limits."""

from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from traces.collectors import content_encodings
from traces.errors import ProblemError, TooLarge

_CHUNK: Final = 256 * 1024
_MIB: Final = 1024 * 1024


class UnknownEncoding(ProblemError):
    """A `Content-Encoding` that this server cannot read."""

    status = 415


class BrokenBody(ProblemError):
    """A body that is not in its `Content-Encoding`."""


def read_body(request: HttpRequest) -> bytes:
    """Return the decompressed body; raise `UnknownEncoding`, `BrokenBody` or `TooLarge`."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    return decompress(_chunks(request), encoding)


def decompress(chunks: Iterator[bytes], encoding: str) -> bytes:
    """Join the pieces of a body, decompressed; raise `UnknownEncoding`, `BrokenBody` or `TooLarge`."""
    limit = settings.MAX_BODY_BYTES
    if encoding in ("", "identity"):
        return _join(chunks, limit)
    if encoding not in content_encodings.ENCODINGS:
        raise UnknownEncoding(f"the encoding “{encoding[:40]}” is unknown: send gzip, deflate, zstd or none")
    try:
        return _join(content_encodings.decompress(chunks, encoding, limit=limit), limit)
    except content_encodings.FAULTS as error:
        raise BrokenBody(f"the body is not valid {encoding}: {error}") from error


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(_CHUNK):
        yield chunk


def _join(pieces: Iterator[bytes], limit: int) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > limit:
            raise TooLarge(f"the body is larger than {limit // _MIB} MiB: send smaller batches")
    return bytes(body)
