"""Pack part references into few bytes: digests are half of a long conversation's storage and do not compress.

`{"$part":"<64 hexadecimal digits>"}` becomes a NUL and the 32 bytes of the digest. JSON text never contains
a NUL, so unpacking is unambiguous; the artifact's hash verifies it at every read.
"""

import re
from typing import Final

import orjson

from traces.payloads.parts import references

_REFERENCE: Final = re.compile(rb'\{"\$part":"([0-9a-f]{64})"\}')
_MARK_DIGITS: Final = b"00"
# Bytes of a mark and the digest after it.
_TOKEN_SIZE: Final = 33
_DIGEST_AFTER_MARK: Final = re.compile(rb"\x00(.{32})", re.DOTALL)
_BYTES: Final = 32
_COMMA: Final = b","
_PART_KEY: Final = b'{"$part":"'
_LITERAL_KEY: Final = b'{"$literal":'
_CONTAINERS: Final = (b"{", b"[")


def pack(data: bytes) -> bytes:
    """Pack the references in JSON text."""
    if _PART_KEY not in data:
        return data
    pieces = _REFERENCE.split(data)
    digits = pieces[1::2]
    # All at once, as below.
    tokens = bytes.fromhex((_MARK_DIGITS + _MARK_DIGITS.join(digits)).decode()) if digits else b""
    pieces[1::2] = [tokens[start : start + _TOKEN_SIZE] for start in range(0, len(tokens), _TOKEN_SIZE)]
    return b"".join(pieces)


def unpack(data: bytes) -> tuple[bytes, list[bytes]]:
    """Restore packed JSON text; return also the digests that it mentions, in references and in literals."""
    pieces = _DIGEST_AFTER_MARK.split(data)
    digests = pieces[1::2]
    if digests:
        # All at once, because a pack contains more than a hundred.
        digits = b"".join(digests).hex(_COMMA, _BYTES).encode()
        pieces[1::2] = (_PART_KEY + digits.replace(_COMMA, b'"},' + _PART_KEY) + b'"}').split(_COMMA)
    return b"".join(pieces), digests


def part_digests(data: bytes) -> list[str]:
    """Return the digests that a stored value refers to directly, in most cases without parsing it."""
    if _PART_KEY not in data:
        return []
    if not _has_only_references(data):
        return _parse_references(data)
    return [match.decode() for match in _REFERENCE.findall(data)]


def _has_only_references(text: bytes) -> bool:
    """True if the text is JSON in which everything that looks like a reference is one."""
    return text.startswith(_CONTAINERS) and _LITERAL_KEY not in text


def _parse_references(data: bytes) -> list[str]:
    """Parse a value that contains such keys itself, or that may not be JSON."""
    try:
        return references(orjson.loads(data))
    except orjson.JSONDecodeError:
        return []
