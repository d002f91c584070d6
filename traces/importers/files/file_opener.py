"""Opening files: compression, size limits, text encodings, lines.

Everything here reads a little at a time, so that a bomb is noticed after the limit and not after the memory.
"""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Final

import zstandard

from traces.importers.files.errors import BadFile

WHOLE_LIMIT: Final = 256 * 2**20  # a format that needs its whole file in memory
STREAM_LIMIT: Final = 4 * 2**30  # a file that is read line by line
LINE_LIMIT: Final = 64 * 2**20
# What a compressed file may become: long conversations that repeat themselves shrink to a hundredth, bombs to less.
_UNPACKED_FREE: Final = 32 * 2**20
_UNPACKED_RATIO: Final = 200
# What parsed JSON takes in memory, by the signs that open a value or separate two; small files may not take much.
_WEIGHTS: Final = ((b"{", 240), (b"[", 64), (b",", 56))
_WEIGHT_FREE: Final = 128 * 2**20
_WEIGHT_RATIO: Final = 48
_LAYERS: Final = 2  # a compressed file inside a compressed file happens, a third is a bomb
_CHUNK: Final = 2**20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
COMPRESSION_MAGIC: Final = (_GZIP, _ZSTD)
_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_JSON_STARTS: Final = frozenset({b"{", b"[", b'"', b" ", b"\n", b"\r", b"\t"})
_BROKEN: Final = (OSError, EOFError, zlib.error, zstandard.ZstdError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a text file in UTF-8, without its end; numbers count from 1."""

    number: int
    data: bytes

    @property
    def location(self) -> str:
        return f"line {self.number}"


def decompress(raw: IO[bytes]) -> io.BufferedReader:
    """`raw` with its compression taken off; it is read and never closed."""
    packed = _Joined(b"", raw)
    stream = _buffered(packed)
    for _ in range(_LAYERS):
        head = _peek(stream)[:4]
        if head.startswith(_GZIP):
            stream = _buffered(_Unpacked(gzip.GzipFile(fileobj=stream, mode="rb"), packed))
        elif head.startswith(_ZSTD):
            stream = _buffered(_Unpacked(_Zstd(stream), packed))
        else:
            return stream
    if _peek(stream).startswith(COMPRESSION_MAGIC):
        raise BadFile(f"compressed more than {_LAYERS} times over", "byte 0")
    return stream


def read_all(stream: IO[bytes], limit: int = WHOLE_LIMIT) -> bytes:
    """All bytes, or `BadFile` once there are more than `limit`."""
    chunks: list[bytes] = []
    size = 0
    while chunk := _read(stream, _CHUNK, size):
        size += len(chunk)
        if size > limit:
            raise BadFile(f"more than {limit // 2**20} MiB when unpacked", f"byte {limit}")
        chunks.append(chunk)
    return b"".join(chunks)


def check_weight(data: bytes, size: int) -> None:
    """Raise `BadFile` where JSON from a file of `size` bytes would take far more memory than such files do."""
    most = _WEIGHT_FREE + _WEIGHT_RATIO * max(size, 0)
    if len(data) * _WEIGHTS[0][1] > most and sum(data.count(sign) * weight for sign, weight in _WEIGHTS) > most:
        raise BadFile(
            f"too many values for a file of {size} bytes: it would take more than {most // 2**20} MiB", "byte 0"
        )


def check_ratio(unpacked: int, packed: int) -> None:
    """Raise `BadFile` where so many packed bytes hold no more than padding."""
    if unpacked > _UNPACKED_FREE + _UNPACKED_RATIO * packed:
        raise BadFile(f"a compressed file that unpacks to more than {_UNPACKED_RATIO} times its size", f"byte {packed}")


def read_head(stream: IO[bytes], size: int) -> bytes:
    """The first `size` bytes, or all there are."""
    chunks: list[bytes] = []
    left = size
    while left and (chunk := _read(stream, min(left, _CHUNK), size - left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def read_lines(stream: io.BufferedReader) -> Iterator[Line]:
    """The lines that are not blank."""
    source = _as_utf8(stream)
    size = number = 0
    while data := _read_line(source, number, size):
        number += 1
        size += len(data)
        if size > STREAM_LIMIT:
            raise BadFile(f"more than {STREAM_LIMIT // 2**30} GiB when unpacked", f"line {number}")
        if text := data.removeprefix(codecs.BOM_UTF8).strip():
            yield Line(number=number, data=text)


def split_lines(data: bytes) -> Iterator[Line]:
    """The lines of a file that is in memory."""
    return read_lines(_buffered(io.BytesIO(data)))


def decode_text(data: bytes) -> str:
    """Text of a file: by its byte order mark, else UTF-8, else Windows-1252."""
    encoding = _encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise BadFile(f"not {encoding} text", f"byte {error.start}") from error
        return _western(data, error.start)


def _western(data: bytes, start: int) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise BadFile("neither UTF-8 nor Windows-1252 text", f"byte {start}") from error


def _encoding(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    if data[1:2] == b"\0" and data[:1] in _JSON_STARTS:
        return "utf-16-le"
    if data[:1] == b"\0" and data[1:2] in _JSON_STARTS:
        return "utf-16-be"
    return "utf-8"


def _as_utf8(stream: io.BufferedReader) -> IO[bytes]:
    """Wide encodings are decoded whole: their line ends are not single bytes."""
    if _encoding(_peek(stream)[:4]) in {"utf-8", "utf-8-sig"}:
        return stream
    return io.BytesIO(decode_text(read_all(stream)).encode("utf-8", "surrogatepass"))


def _buffered(raw: Any) -> io.BufferedReader:
    """Any binary stream, gzip and zstd readers among them, with a look ahead."""
    return io.BufferedReader(raw, 2**16)


def _peek(stream: io.BufferedReader) -> bytes:
    try:
        return stream.peek(2**16)
    except _BROKEN as error:
        raise BadFile(f"damaged compressed data: {error}", "byte 0") from error


def _read(stream: IO[bytes], size: int, at: int) -> bytes:
    try:
        return stream.read(size)
    except _BROKEN as error:
        raise BadFile(f"damaged compressed data: {error}", f"byte {at} of the unpacked file") from error


def _read_line(stream: IO[bytes], number: int, at: int) -> bytes:
    try:
        data = stream.readline(LINE_LIMIT + 1)
    except _BROKEN as error:
        raise BadFile(f"damaged compressed data: {error}", f"byte {at} of the unpacked file") from error
    if len(data) > LINE_LIMIT:
        raise BadFile(f"a line of more than {LINE_LIMIT // 2**20} MiB", f"line {number + 1}")
    return data


class _Zstd(io.RawIOBase):
    """A zstd file, frame after frame; one that ends inside a frame is cut off, which the library's reader hides."""

    _STEP: Final = 1024  # a block of four bytes may unpack to 128 KiB, so what is fed at once bounds what comes out

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready and (data := self._stream.read(self._STEP)):
            self._ready = memoryview(self._unpacked(data))
        if not self._ready and self._frame is not None:
            raise EOFError("it ends inside a zstd frame")
        taken = bytes(self._ready[: len(target)])
        self._ready = self._ready[len(taken) :]
        target[: len(taken)] = taken
        return len(taken)

    def _unpacked(self, data: bytes) -> bytes:
        made: list[bytes] = []
        while data:
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()
            made.append(self._frame.decompress(data))
            data = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        return b"".join(made)


class _Joined(io.RawIOBase):
    """Bytes that were read already, and the rest of their stream."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = memoryview(head)
        self._rest = rest
        self.size = 0  # bytes that were read so far

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        taken = bytes(self._head[: len(target)]) or _read(self._rest, len(target), 0)
        self._head = self._head[len(taken) :]
        self.size += len(taken)
        target[: len(taken)] = taken
        return len(taken)


class _Unpacked(io.RawIOBase):
    """What a decompressor makes, as long as it is in proportion to what was read for it."""

    def __init__(self, unpacking: Any, packed: _Joined) -> None:
        self._unpacking = unpacking
        self._packed = packed
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        count: int = self._unpacking.readinto(target)
        self._size += count
        check_ratio(self._size, self._packed.size)
        return count


def prepend(head: bytes, rest: IO[bytes]) -> io.BufferedReader:
    """The stream as it was before `head` was read of it."""
    return io.BufferedReader(_Joined(head, rest), _CHUNK)
