"""Opening of files: compression, size limits, text encodings, lines.

Files are read in small chunks, so that a decompression bomb hits a limit before it fills the memory.
"""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Final

import zstandard

from traces.importers.files.errors import BadFile

# For formats that need the whole file in memory.
WHOLE_LIMIT: Final = 256 * 2**20
# For files that are read line by line.
STREAM_LIMIT: Final = 4 * 2**30
LINE_LIMIT: Final = 64 * 2**20
# Long repetitive conversations compress to a hundredth of their size, decompression bombs to far less.
_FREE_SIZE: Final = 32 * 2**20
_MOST_RATIO: Final = 200
# Estimated bytes of parsed JSON per sign, and the limit: a free amount plus a ratio to the file's size.
_WEIGHTS: Final = ((b"{", 240), (b"[", 64), (b",", 56))
_WEIGHT_FREE: Final = 128 * 2**20
_WEIGHT_RATIO: Final = 48
# A compressed file inside a compressed file occurs; a third layer is a bomb.
_LAYERS: Final = 2
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
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BROKEN: Final = (OSError, EOFError, zlib.error, zstandard.ZstdError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a text file in UTF-8, without its line break. Numbers count from 1."""

    number: int
    data: bytes

    @property
    def location(self) -> str:
        return f"line {self.number}"


def decompress(raw: IO[bytes]) -> io.BufferedReader:
    """Return a stream of the decompressed content of `raw`. `raw` is never closed."""
    counter = _RejoinedStream(b"", raw)
    stream = _buffer(counter)
    for _ in range(_LAYERS):
        head = _peek(stream)[:4]
        if head.startswith(_GZIP):
            stream = _buffer(_DecompressedStream(gzip.GzipFile(fileobj=stream, mode="rb"), counter))
        elif head.startswith(_ZSTD):
            stream = _buffer(_DecompressedStream(_ZstdStream(stream), counter))
        else:
            return stream
    if _peek(stream).startswith(COMPRESSION_MAGIC):
        raise BadFile(f"the file is compressed more than {_LAYERS} times", "byte 0")
    return stream


def read_all(stream: IO[bytes], limit: int = WHOLE_LIMIT) -> bytes:
    """Read all bytes. Raises `BadFile` beyond `limit`."""
    chunks: list[bytes] = []
    size = 0
    while chunk := _read(stream, _CHUNK, size):
        size += len(chunk)
        if size > limit:
            raise BadFile(f"the file decompresses to more than {limit // 2**20} MiB", f"byte {limit}")
        chunks.append(chunk)
    return b"".join(chunks)


def check_weight(data: bytes, size: int) -> None:
    """Raise `BadFile` if parsed JSON would take far more memory than a file of `size` bytes should."""
    most = _WEIGHT_FREE + _WEIGHT_RATIO * max(size, 0)
    if len(data) * _WEIGHTS[0][1] > most and sum(data.count(sign) * weight for sign, weight in _WEIGHTS) > most:
        raise BadFile(
            f"a file of {size} bytes has too many values: they would take more than {most // 2**20} MiB", "byte 0"
        )


def check_ratio(output_size: int, input_size: int) -> None:
    """Raise `BadFile` if the compression ratio is that of a decompression bomb."""
    if output_size > _FREE_SIZE + _MOST_RATIO * input_size:
        raise BadFile(f"the file decompresses to more than {_MOST_RATIO} times its size", f"byte {input_size}")


def read_head(stream: IO[bytes], size: int) -> bytes:
    """Read the first `size` bytes, or fewer if the file is shorter."""
    chunks: list[bytes] = []
    remaining = size
    while remaining and (chunk := _read(stream, min(remaining, _CHUNK), size - remaining)):
        chunks.append(chunk)
        remaining -= len(chunk)
    return b"".join(chunks)


def read_lines(stream: io.BufferedReader) -> Iterator[Line]:
    """Yield the lines that are not blank."""
    source = _as_utf8(stream)
    size = number = 0
    while data := _read_line(source, number, size):
        number += 1
        size += len(data)
        if size > STREAM_LIMIT:
            raise BadFile(f"the file decompresses to more than {STREAM_LIMIT // 2**30} GiB", f"line {number}")
        if text := data.removeprefix(codecs.BOM_UTF8).strip():
            yield Line(number=number, data=text)


def split_lines(data: bytes) -> Iterator[Line]:
    """Yield the lines of a file in memory that are not blank."""
    return read_lines(_buffer(io.BytesIO(data)))


def is_blank(data: bytes) -> bool:
    """Return whether a file has nothing but white space, also after a byte order mark."""
    mark, encoding = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", ""))
    text = data.removeprefix(mark)
    return not (text.replace(b"\0", b"") if encoding.startswith(("utf-16", "utf-32")) else text).strip()


def is_binary(head: bytes) -> bool:
    """Return whether the first bytes of a file contain control characters, which JSON and other texts do not."""
    return _detect_encoding(head) == "utf-8" and bool(_CONTROLS.search(head))


def decode_text(data: bytes) -> str:
    """Decode text: by its byte order mark, else as UTF-16 or UTF-8, else as Windows-1252."""
    encoding = _detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise BadFile(f"the text is not valid {encoding}", f"byte {error.start}") from error
        return _decode_windows_1252(data, error.start)


def _decode_windows_1252(data: bytes, start: int) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise BadFile("the text is neither UTF-8 nor Windows-1252", f"byte {start}") from error


def _detect_encoding(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    if data[1:2] == b"\0" and data[:1] in _JSON_STARTS:
        return "utf-16-le"
    if data[:1] == b"\0" and data[1:2] in _JSON_STARTS:
        return "utf-16-be"
    return "utf-8"


def _as_utf8(stream: io.BufferedReader) -> IO[bytes]:
    """Convert a stream to UTF-8; UTF-16 and UTF-32 as a whole, since their line breaks span bytes."""
    if _detect_encoding(_peek(stream)[:4]) in {"utf-8", "utf-8-sig"}:
        return stream
    return io.BytesIO(decode_text(read_all(stream)).encode("utf-8", "surrogatepass"))


def _buffer(raw: Any) -> io.BufferedReader:
    """Wrap any binary stream, also those of gzip and zstd, in a reader that can peek."""
    return io.BufferedReader(raw, 2**16)


def _peek(stream: io.BufferedReader) -> bytes:
    try:
        return stream.peek(2**16)
    except _BROKEN as error:
        raise BadFile(f"damaged compressed data: {error}", "byte 0") from error


def _read(stream: IO[bytes], size: int, offset: int) -> bytes:
    try:
        return stream.read(size)
    except _BROKEN as error:
        raise BadFile(f"damaged compressed data: {error}", f"byte {offset} of the unpacked file") from error


def _read_line(stream: IO[bytes], number: int, offset: int) -> bytes:
    try:
        data = stream.readline(LINE_LIMIT + 1)
    except _BROKEN as error:
        raise BadFile(f"damaged compressed data: {error}", f"byte {offset} of the unpacked file") from error
    if len(data) > LINE_LIMIT:
        raise BadFile(f"the line is longer than {LINE_LIMIT // 2**20} MiB", f"line {number + 1}")
    return data


class _ZstdStream(io.RawIOBase):
    """The content of a zstd file by frame. Unlike the library's reader, it detects a truncated frame."""

    # A block of 4 bytes may decompress to 128 KiB, so small input chunks limit the output.
    _STEP: Final = 1024

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready and (data := self._stream.read(self._STEP)):
            self._ready = memoryview(self._decompress(data))
        if not self._ready and self._frame is not None:
            raise EOFError("the file ends inside a zstd frame")
        chunk = bytes(self._ready[: len(target)])
        self._ready = self._ready[len(chunk) :]
        target[: len(chunk)] = chunk
        return len(chunk)

    def _decompress(self, data: bytes) -> bytes:
        chunks: list[bytes] = []
        while data:
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()
            chunks.append(self._frame.decompress(data))
            data = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        return b"".join(chunks)


class _RejoinedStream(io.RawIOBase):
    """Bytes already read from a stream, followed by the rest of the stream."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = memoryview(head)
        self._rest = rest
        # Number of bytes read so far.
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        chunk = bytes(self._head[: len(target)]) or _read(self._rest, len(target), 0)
        self._head = self._head[len(chunk) :]
        self.size += len(chunk)
        target[: len(chunk)] = chunk
        return len(chunk)


class _DecompressedStream(io.RawIOBase):
    """The output of a decompressor, checked against the ratio limit while it is read."""

    def __init__(self, decompressor: Any, counter: _RejoinedStream) -> None:
        self._decompressor = decompressor
        self._counter = counter
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        count: int = self._decompressor.readinto(target)
        self._size += count
        check_ratio(self._size, self._counter.size)
        return count


def prepend(head: bytes, rest: IO[bytes]) -> io.BufferedReader:
    """Return a stream of `head` followed by `rest`."""
    return io.BufferedReader(_RejoinedStream(head, rest), _CHUNK)
