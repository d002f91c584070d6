"""Pack part references into few bytes: digests are half of a long conversation's storage and do not compress.

`{"$part":"<64 hexadecimal digits>"}` becomes a NUL and the 32 bytes of the digest. JSON text never contains
a NUL, so unpacking is unambiguous; the artifact's hash verifies it at every read.
"""

import re
from itertools import accumulate, repeat
from typing import Final

import orjson

from traces.payloads.parts import references

_REFERENCE: Final = re.compile(rb'\{"\$part":"([0-9a-f]{64})"\}')
_MARK: Final = b"\x00"
_DIGEST_AFTER_MARK: Final = re.compile(rb"\x00(.{32})", re.DOTALL)
_BYTES: Final = 32
_DIGITS: Final = 2 * _BYTES
_PART_KEY: Final = b'{"$part":"'
_LITERAL_KEY: Final = b'{"$literal":'
_CONTAINERS: Final = (b"{", b"[")


def pack(data: bytes) -> bytes:
    """Pack the references in JSON text."""
    if _PART_KEY not in data:
        return data
    first, *rest = _REFERENCE.split(data)
    digests = bytes.fromhex(b"".join(rest[::2]).decode())
    pieces = [first]
    for index, text in enumerate(rest[1::2]):
        pieces += (_MARK, digests[index * _BYTES : (index + 1) * _BYTES], text)
    return b"".join(pieces)


def unpack(data: bytes) -> bytes:
    """Restore packed JSON text."""
    return _restore(_DIGEST_AFTER_MARK.split(data))


def unpack_lines(data: bytes) -> tuple[list[bytes], dict[int, list[bytes]]]:
    """Restore packed JSON, one value in each line; return also the digests that each line refers to, by its index."""
    pieces = _DIGEST_AFTER_MARK.split(data)
    digests: dict[int, list[bytes]] = {}
    # Without a function call for each of them: a replay reads tens of thousands of references.
    for index, digest in zip(accumulate(map(bytes.count, pieces[::2], repeat(b"\n"))), pieces[1::2], strict=False):
        if index in digests:
            digests[index].append(digest)
        else:
            digests[index] = [digest]
    lines = _restore(pieces).split(b"\n")
    has_literals = _LITERAL_KEY in data
    for index in digests:
        if (has_literals or lines[index][:1] not in _CONTAINERS) and not _has_only_references(lines[index]):
            digests[index] = [bytes.fromhex(digest) for digest in _parse_references(lines[index])]
    return lines, digests


def part_digests(data: bytes) -> list[str]:
    """Return the digests that a stored value refers to directly, in most cases without parsing it."""
    if _PART_KEY not in data:
        return []
    if not _has_only_references(data):
        return _parse_references(data)
    return [match.decode() for match in _REFERENCE.findall(data)]


def _restore(pieces: list[bytes]) -> bytes:
    """Join texts and the digests between them."""
    digits = b"".join(pieces[1::2]).hex().encode()
    pieces[1::2] = [b'{"$part":"%b"}' % digits[start : start + _DIGITS] for start in range(0, len(digits), _DIGITS)]
    return b"".join(pieces)


def _has_only_references(text: bytes) -> bool:
    """True if the text is JSON in which everything that looks like a reference is one."""
    return text.startswith(_CONTAINERS) and _LITERAL_KEY not in text


def _parse_references(data: bytes) -> list[str]:
    """Parse a value that contains such keys itself, or that may not be JSON."""
    try:
        return references(orjson.loads(data))
    except orjson.JSONDecodeError:
        return []
