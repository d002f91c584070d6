"""Compression by Zstandard. A compressor takes longer to create than to use once, and threads cannot share one."""

from threading import local
from typing import Final

import zstandard

FAST: Final = 1
SMALL: Final = 3
_local = local()


class BrokenFrame(ValueError):
    """Bytes that are not a frame of Zstandard, or not a whole one."""


def compress(data: bytes, *, level: int = SMALL) -> bytes:
    """Return one frame, which states its decoded size."""
    name = f"compressor_{level}"
    if (compressor := getattr(_local, name, None)) is None:
        compressor = zstandard.ZstdCompressor(level=level, write_content_size=True)
        setattr(_local, name, compressor)
    return compressor.compress(data)


def decompress(frame: bytes | memoryview, *, max_size: int = 0) -> bytes:
    """Return the decoded bytes of a frame. One that does not state its size has at most `max_size` bytes.

    Raises:
        BrokenFrame: the bytes are no frame, or exceed that size.
    """
    if (decompressor := getattr(_local, "decompressor", None)) is None:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    try:
        return decompressor.decompress(frame, max_output_size=max_size)
    except zstandard.ZstdError as error:
        raise BrokenFrame(str(error)) from error
