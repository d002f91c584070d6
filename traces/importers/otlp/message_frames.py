"""Files with a length before each message, as the collector's file exporter writes protobuf and compressed data.

    length   (4 bytes, big-endian)  message, alone or compressed by zstd    the collector's `file` exporter
    length   (protobuf's varint)    message in protobuf                     OpenTelemetry's specification of files

A message is an export request. Joined, requests in protobuf are one request, and those in JSON are lines.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import COMPRESSION_MAGIC, LINE_LIMIT, WHOLE_LIMIT
from traces.importers.otlp.batches import find_request

_LENGTH: Final = 4
# Of a varint below the limit of a message.
_LONGEST_VARINT: Final = 4
# The first byte of a request in protobuf and in JSON.
_MESSAGE_STARTS: Final = (b"\n", b"{")
# A collector writes batches; shorter messages are of no use, but take memory.
_MOST_MESSAGES: Final = 500_000
_CUT: Final = "the file ends inside a message"


@dataclass(kw_only=True)
class JoinedMessages:
    """The messages of a file without their lengths, and the first that could not be read."""

    data: bytes = b""
    problems: list[BadFile] = field(default_factory=list)


def has_frames(head: bytes) -> bool:
    """Return whether a file begins with a message after its length."""
    return _has_fixed_lengths(head) or _has_varints(head)


def join_messages(stream: IO[bytes]) -> JoinedMessages:
    """Read all messages of a file as far as it is undamaged. Raises `BadFile` if none can be read."""
    data = file_opener.read_all(stream)
    content, size = JoinedMessages(), 0
    messages: list[bytes] = []
    try:
        for message, start in _frames(data):
            if len(messages) == _MOST_MESSAGES:
                raise BadFile(f"more than {_MOST_MESSAGES} messages in one file", f"byte {start}")
            messages.append(_decompress(message, start, WHOLE_LIMIT - size))
            size += len(messages[-1]) + 1
            file_opener.check_ratio(size, len(data))
    except BadFile as problem:
        if not messages:
            raise
        content.problems.append(problem)
    content.data = (b"\n" if messages[0].startswith(b"{") else b"").join(messages)
    return content


def _frames(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield each message and its place."""
    read_length = _fixed_length if _has_fixed_lengths(data) else _varint
    position = 0
    while position < len(data):
        length, start = read_length(data, position)
        if length <= 0 or start + length > len(data):
            raise BadFile(_CUT, f"byte {position}")
        yield data[start : start + length], start
        position = start + length


def _decompress(message: bytes, start: int, limit: int) -> bytes:
    if not message.startswith(COMPRESSION_MAGIC):
        return message
    try:
        return file_opener.read_all(file_opener.decompress(io.BytesIO(message)), limit)
    except BadFile as problem:
        raise BadFile(problem.problem, f"byte {start}") from problem


def _has_fixed_lengths(head: bytes) -> bool:
    length, start = _fixed_length(head, 0)
    # No request in protobuf that has no length before it and no text begins with so small a byte.
    return 0 < length <= LINE_LIMIT and head[start:].startswith((*COMPRESSION_MAGIC, *_MESSAGE_STARTS))


def _has_varints(head: bytes) -> bool:
    """Return whether the first message is a request: also an indented document begins with a byte and a line break."""
    length, start = _varint(head, 0)
    message = head[start : start + length]
    return len(message) == length > 0 and message.startswith(b"\n") and find_request(message) is not None


def _fixed_length(data: bytes, position: int) -> tuple[int, int]:
    """Return the length of the message at a place and where it starts; a length that is cut off is 0."""
    start = position + _LENGTH
    return (int.from_bytes(data[position:start], "big"), start) if start <= len(data) else (0, start)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the length of the message at a place and where it starts; one that is cut off or too large is 0."""
    length = 0
    for index, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return length, position + index + 1
    return 0, position
