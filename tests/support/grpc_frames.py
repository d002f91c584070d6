"""A gRPC call in raw HTTP/2 frames, for requests that no gRPC library sends."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _GOAWAY = 0, 1, 3, 4, 7
_END_STREAM, _END_HEADERS = 1, 4
_ACKNOWLEDGED: Final = 1
# With a table of no size, all headers of the response are literals or entries of the static table.
_NO_TABLE: Final = struct.pack(">HI", 1, 0)
_STATIC: Final = {8: (":status", "200"), 13: (":status", "404"), 14: (":status", "500"), 31: ("content-type", "")}
_LARGEST_FRAME: Final = 16_384
_TIMEOUT_S: Final = 20.0


@dataclass(kw_only=True)
class RawResponse:
    """Headers and trailers of a response; values in Huffman's code are empty texts."""

    headers: dict[str, str] = field(default_factory=dict)
    was_reset: bool = False

    @property
    def code(self) -> int:
        return int(self.headers["grpc-status"])


def message_frame(body: bytes, *, is_compressed: bool = False) -> bytes:
    """Return a message with its prefix: whether it is compressed, and its length."""
    return struct.pack(">?I", is_compressed, len(body)) + body


def call(address: str, method: str, body: bytes, headers: dict[str, str] | None = None) -> RawResponse:
    """Send the bytes as the body of one request, and return what the server answers."""
    host, _, port = address.rpartition(":")
    fields = {":method": "POST", ":scheme": "http", ":path": method, ":authority": address, "te": "trailers"}
    fields |= {"content-type": "application/grpc", **(headers or {})}
    frames = [_frame(_SETTINGS, 0, 0, _NO_TABLE), _frame(_HEADERS, _END_HEADERS, 1, b"".join(_literals(fields)))]
    pieces = [body[start : start + _LARGEST_FRAME] for start in range(0, len(body), _LARGEST_FRAME)]
    frames += [_frame(_DATA, 0, 1, piece) for piece in pieces]
    with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as connection:
        connection.sendall(_PREFACE + b"".join(frames) + _frame(_DATA, _END_STREAM, 1, b""))
        return _response(connection)


def _response(connection: socket.socket) -> RawResponse:
    response = RawResponse()
    for kind, flags, payload in _frames(connection):
        if kind == _HEADERS:
            response.headers |= dict(_fields(payload))
        elif kind == _SETTINGS and not flags & _ACKNOWLEDGED:
            connection.sendall(_frame(_SETTINGS, _ACKNOWLEDGED, 0, b""))
        if kind in (_RESET, _GOAWAY):
            response.was_reset = True
        if kind in (_RESET, _GOAWAY) or (kind in (_HEADERS, _DATA) and flags & _END_STREAM):
            break
    return response


def _frames(connection: socket.socket) -> Iterator[tuple[int, int, bytes]]:
    """Yield type, flags and payload of each frame until the server closes the connection."""
    with connection.makefile("rb") as stream:
        while len(head := stream.read(9)) == 9:
            yield head[3], head[4], stream.read(int.from_bytes(head[:3], "big"))


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def _literals(fields: dict[str, str]) -> Iterator[bytes]:
    for name, value in fields.items():
        yield b"\0" + _text(name.encode()) + _text(value.encode())


def _text(data: bytes) -> bytes:
    assert len(data) < 127
    return bytes([len(data)]) + data


def _fields(block: bytes) -> Iterator[tuple[str, str]]:
    """Yield the fields of a header block whose encoder has no dynamic table."""
    position = 0
    while position < len(block):
        first = block[position]
        if first & 0x80:
            index, position = _integer(block, position, 7)
            yield _STATIC[index]
        elif first & 0xE0 == 0x20:
            _, position = _integer(block, position, 5)
        else:
            index, position = _integer(block, position, 6 if first & 0x40 else 4)
            name, position = (_STATIC[index][0], position) if index else _string(block, position)
            value, position = _string(block, position)
            yield name, value


def _string(block: bytes, position: int) -> tuple[str, int]:
    is_huffman = bool(block[position] & 0x80)
    length, start = _integer(block, position, 7)
    return "" if is_huffman else block[start : start + length].decode(), start + length


def _integer(block: bytes, position: int, bits: int) -> tuple[int, int]:
    """Read an integer that begins in the last bits of a byte; return it and the position behind it."""
    most = (1 << bits) - 1
    value, position = block[position] & most, position + 1
    shift = 0
    while value >= most:
        byte, position = block[position], position + 1
        value, shift = value + ((byte & 0x7F) << shift), shift + 7
        if not byte & 0x80:
            break
    return value, position
