"""Markers: what stands in place of a value that must not be stored.

`[redacted:<kind>:<digest>]` keeps the identity of a value but not the value: the digest is keyed, so equal values have
equal markers within an installation, and no one without the key can test a guess. `[dropped:<kind>]` keeps nothing.
`[redaction-failed]` replaces a whole payload that could not be checked.
"""

import hmac
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from traces.core.canonical import canonical_bytes
from traces.core.json_types import JSONValue

KIND_PATTERN: Final = r"[a-z0-9][a-z0-9-]{0,59}"
FAILURE: Final = "redaction-failed"
FAILURE_MARKER: Final = f"[{FAILURE}]"
# Bits enough that values of one installation do not collide, few enough to read.
_DIGEST_LENGTH: Final = 16
MARKER: Final = re.compile(rf"\[(?:redacted:({KIND_PATTERN}):[0-9a-f]{{{_DIGEST_LENGTH}}}|dropped:({KIND_PATTERN}))\]")
MARKER_BYTES: Final = re.compile(MARKER.pattern.encode())


@dataclass(frozen=True, slots=True)
class Digester:
    """Writes markers with digests under one key."""

    key: bytes

    def marker(self, kind: str, value: bytes) -> str:
        """Return the marker of a value of this kind."""
        digest = hmac.digest(self.key, value, sha256).hex()[:_DIGEST_LENGTH]
        return f"[redacted:{kind}:{digest}]"

    def marker_of_json(self, kind: str, value: JSONValue) -> str:
        """Return the marker of any JSON value; that of a text is the same as for its characters."""
        data = value.encode(errors="surrogatepass") if isinstance(value, str) else canonical_bytes(value)
        return self.marker(kind, data)


def drop_marker(kind: str) -> str:
    return f"[dropped:{kind}]"


def marker_spans(text: bytes) -> list[tuple[int, int]]:
    """Return the places of the markers in a text."""
    return [match.span() for match in MARKER_BYTES.finditer(text)] if b"[" in text else []


def kinds(value: object) -> Iterator[str]:
    """Yield the kinds of the markers in a JSON value, in order; a kind may come several times."""
    if isinstance(value, str):
        if value == FAILURE_MARKER:
            yield FAILURE
        elif "[" in value:
            for match in MARKER.finditer(value):
                yield match[1] or match[2]
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from kinds(key)
            yield from kinds(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from kinds(item)
