"""Request bodies of collectors: read and decompressed, with limits."""

import zlib
from collections.abc import Iterator
from typing import Final

import zstandard
from django.conf import settings
from django.http import HttpRequest

from traces.errors import ProblemError, TooLarge

_CHUNK: Final = 256 * 1024
_MIB: Final = 1024 * 1024
# A block of zstd takes four bytes for up to 128 KiB, so that a slice decompresses to 32 MiB at most.
_ZSTD_SLICE: Final = 1024
# zlib's number for a header of gzip or zlib, whichever there is.
_ANY_HEADER: Final = zlib.MAX_WBITS | 32


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
    if encoding not in ("gzip", "x-gzip", "deflate", "zstd"):
        raise UnknownEncoding(f"the encoding “{encoding[:40]}” is unknown: send gzip, deflate, zstd or none")
    try:
        return _join(_decompress(chunks, encoding, limit), limit)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise BrokenBody(f"the body is not valid {encoding}: {error}") from error


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(_CHUNK):
        yield chunk


def _decompress(chunks: Iterator[bytes], encoding: str, limit: int) -> Iterator[bytes]:
    """Yield decompressed pieces of bounded size: a small body may decompress to gigabytes."""
    return _unpack_zstd(chunks, limit) if encoding == "zstd" else _inflate(chunks)


def _inflate(chunks: Iterator[bytes]) -> Iterator[bytes]:
    # A body may have several members, one after the other, and zeros after the last one.
    decompressor = zlib.decompressobj(_ANY_HEADER)
    for chunk in chunks:
        data = chunk.lstrip(b"\0") if decompressor.eof else chunk
        while data:
            if decompressor.eof:
                decompressor = zlib.decompressobj(_ANY_HEADER)
            yield decompressor.decompress(data, _CHUNK)
            data = decompressor.unconsumed_tail or decompressor.unused_data.lstrip(b"\0")
    yield decompressor.flush()
    if not decompressor.eof:
        raise EOFError("it ends too early")


def _unpack_zstd(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    # A stream reader does not tell a body that was cut off from a whole one.
    frames = zstandard.ZstdDecompressor(max_window_size=limit)
    frame = frames.decompressobj()
    for chunk in chunks:
        for start in range(0, len(chunk), _ZSTD_SLICE):
            data = chunk[start : start + _ZSTD_SLICE]
            while data:
                if frame.eof:
                    frame = frames.decompressobj()
                yield frame.decompress(data)
                data = frame.unused_data
    if not frame.eof:
        raise EOFError("it ends too early")


def _join(pieces: Iterator[bytes], limit: int) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > limit:
            raise TooLarge(f"the body is larger than {limit // _MIB} MiB: send smaller batches")
    return bytes(body)
