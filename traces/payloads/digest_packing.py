"""References in few bytes: half of what a long conversation stores are digests, which are random and do not compress.

`{"$part":"<64 hexadecimal digits>"}` becomes a NUL and the 32 bytes of the digest. JSON text never contains
a NUL itself, so the way back is unambiguous; the hash of the artifact proves it at every read.
"""

import re
from typing import Final

import orjson

from traces.payloads.parts import references

_REFERENCE: Final = re.compile(rb'\{"\$part":"([0-9a-f]{64})"\}')
_MARK: Final = b"\x00"
_BYTES: Final = 32
_PART_KEY: Final = b'{"$part":"'
_LITERAL_KEY: Final = b'{"$literal":'


def pack(data: bytes) -> bytes:
    """JSON text with its references in short."""
    if _PART_KEY not in data:
        return data
    first, *rest = _REFERENCE.split(data)
    digests = bytes.fromhex(b"".join(rest[::2]).decode())
    packed = [first]
    for at, text in enumerate(rest[1::2]):
        packed += (_MARK, digests[at * _BYTES : (at + 1) * _BYTES], text)
    return b"".join(packed)


def unpack(data: bytes) -> bytes:
    """What was packed."""
    pieces: list[bytes] = []
    at = 0
    while (mark := data.find(_MARK, at)) >= 0:
        end = mark + 1 + _BYTES
        pieces += (data[at:mark], b'{"$part":"', data[mark + 1 : end].hex().encode(), b'"}')
        at = end
    return b"".join([*pieces, data[at:]])


def part_digests(data: bytes) -> list[str]:
    """The digests that the bytes of a stored value refer to directly; most bytes need no parsing for that."""
    if _PART_KEY not in data:
        return []
    if _LITERAL_KEY in data or not data.startswith((b"{", b"[")):
        return _parsed_references(data)
    return [match.decode() for match in _REFERENCE.findall(data)]


def _parsed_references(data: bytes) -> list[str]:
    """For a recording that has such keys itself, and for artifacts that are not JSON."""
    try:
        return list(references(orjson.loads(data)))
    except orjson.JSONDecodeError:
        return []
