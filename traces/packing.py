"""References in few bytes: half of what a long conversation stores are digests, which are random and do not compress.

`{"$part":"<64 hexadecimal digits>"}` becomes a NUL and the 32 bytes of the digest. JSON text never contains
a NUL itself, so the way back is unambiguous; the hash of the artifact proves it at every read.
"""

import re
from typing import Final

_REFERENCE: Final = re.compile(rb'\{"\$part":"([0-9a-f]{64})"\}')
_MARK: Final = b"\x00"
_BYTES: Final = 32


def pack(data: bytes) -> bytes:
    """JSON text with its references in short."""
    if b'{"$part":"' not in data:
        return data
    return _REFERENCE.sub(lambda found: _MARK + bytes.fromhex(found[1].decode()), data)


def unpack(data: bytes) -> bytes:
    """What was packed."""
    pieces: list[bytes] = []
    at = 0
    while (mark := data.find(_MARK, at)) >= 0:
        end = mark + 1 + _BYTES
        pieces += (data[at:mark], b'{"$part":"', data[mark + 1 : end].hex().encode(), b'"}')
        at = end
    return b"".join([*pieces, data[at:]])
