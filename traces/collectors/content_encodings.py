"""Bodies in a content encoding of HTTP, decompressed in pieces of bounded size. Pure."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import zstandard

ENCODINGS: Final = ("gzip", "x-gzip", "deflate", "zstd")
# What a body that is not in its encoding raises; `EOFError`: it ends too early.
FAULTS: Final = (zlib.error, zstandard.ZstdError, EOFError)
_PIECE: Final = 256 * 1024
# A block of zstd takes four bytes for up to 128 KiB, so that a slice decompresses to 32 MiB at most.
_ZSTD_SLICE: Final = 1024
_SMALLEST_WINDOW: Final = 1024
# zlib's number for a header of gzip or zlib, whichever there is.
_ANY_HEADER: Final = zlib.MAX_WBITS | 32
# The method that the first byte of a zlib header names, and the number of which the first two bytes are a multiple.
_DEFLATE: Final = 8
_HEADER_CHECK: Final = 31


def decompress(chunks: Iterable[bytes], encoding: str, *, limit: int) -> Iterator[bytes]:
    """Yield the decompressed pieces of a body: a small one may decompress to gigabytes. Raise one of `FAULTS`.

    `limit` is the largest window of zstd.
    """
    return _unpack_zstd(chunks, limit) if encoding == "zstd" else _inflate(chunks)


def _inflate(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # A body may have several members, one after the other, and zeros after the last one.
    decompressor = None
    for chunk in chunks:
        data = chunk.lstrip(b"\0") if decompressor is not None and decompressor.eof else chunk
        while data:
            if decompressor is None:
                decompressor = zlib.decompressobj(_window(data))
            elif decompressor.eof:
                decompressor = zlib.decompressobj(_ANY_HEADER)
            yield decompressor.decompress(data, _PIECE)
            data = decompressor.unconsumed_tail or decompressor.unused_data.lstrip(b"\0")
    if decompressor is None:
        raise EOFError("it ends too early")
    yield decompressor.flush()
    if not decompressor.eof:
        raise EOFError("it ends too early")


def _window(data: bytes) -> int:
    """Return zlib's number for what a body begins with. As `deflate`, some servers send data without a header."""
    is_gzip = data[:1] == b"\x1f"
    is_zlib = data[0] & 0x0F == _DEFLATE and int.from_bytes(data[:2]) % _HEADER_CHECK == 0
    return _ANY_HEADER if is_gzip or is_zlib or len(data) == 1 else -zlib.MAX_WBITS


def _unpack_zstd(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    # A stream reader does not tell a body that was cut off from a whole one.
    frames = zstandard.ZstdDecompressor(max_window_size=max(limit, _SMALLEST_WINDOW))
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
