"""Detector of secrets inside encoded text: base64 (of gzip or zlib, too), hex, and escapes of URLs, JSON and HTML.

Each is decoded once, and the detector of secrets looks at the result. An encoded text is redacted as a whole; of a text
with escapes, only the characters of the secret.

A secret is ASCII, and base64 of ASCII has zeros at known bits, which ids, hashes and images have only by chance: one
expression finds it wherever it begins, and all other data is looked at once.

    bytes       0xxxxxxx 0xxxxxxx 0xxxxxxx
    letters     0xxxxx   xx0xxx   xxxx0x   xxxxxx
"""

import binascii
import re
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Final

import re2

from traces.redaction.findings import Finding
from traces.redaction.secrets import SecretDetector, expression_options, secret_detector

_LETTERS: Final = "[0-9A-Za-z+/_-]"
_BREAK: Final = r"(?:\r?\n|(?:\\r)?\\n)"
_QUAD: Final = rf"[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589]{_LETTERS}{_BREAK}?"
# At least 15 bytes, with letters around them that encode bytes of the text together with others.
_BASE64: Final = rf"(?:{_LETTERS}{{4}})?(?:{_QUAD}){{5,}}{_LETTERS}{{0,4}}={{0,2}}"
# What begins as gzip or zlib does.
_ARCHIVE: Final = rf"(?:H4sI|eJ[w-z]|eN[o-r]|eA[E-H])(?:{_LETTERS}{_BREAK}?){{20,}}={{0,2}}"
_HEX: Final = "(?:[2-7][0-9A-Fa-f][ :]?){18,}"
_ESCAPE: Final = r"%[2-7][0-9A-Fa-f]|\\(?:u00|x)[2-7][0-9A-Fa-f]|\\/|&#(?:3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6]);"
# RE2 reads ten times as fast, but takes ten times as long for a match: it is used up to one in so many characters.
_DENSITY: Final = 100
_ESCAPES: Final = re.compile(_ESCAPE.encode())
_BREAKS: Final = re.compile(_BREAK.encode())
_SEPARATORS: Final = b" :"
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
# Of one value, in bytes before and after; of all values, as much more as the data has.
_INFLATED_SIZE: Final = 64 * 1024
_GZIP_OR_ZLIB: Final = 47


class EncodedSecretDetector:
    """Finds encoded secrets."""

    def __init__(self, secrets: SecretDetector) -> None:
        self._secrets = secrets
        # What every text that it decodes contains.
        self.hint = f"{_ARCHIVE}|(?:{_QUAD}){{5}}|{_HEX}|{_ESCAPE}"
        self.version = f"encoded-{secrets.version}:{sha256(self.hint.encode()).hexdigest()[:8]}"
        patterns = (self.hint, _ARCHIVE, _BASE64, _HEX, _ESCAPE)
        options = expression_options(captures=False)
        expressions = [re2.compile(pattern.encode(), options) for pattern in patterns]
        self._hint, self._archives, self._base64, self._hex, self._escapes = expressions

    def suspects(self, data: bytes) -> bool:
        if not self._hint.search(data):
            return False
        contents = [content for _, content in self._contents(data)]
        return self._secrets.suspects(b"\n".join([*contents, self._plain_text(data).text]))

    def findings(self, text: bytes, name: str) -> Sequence[Finding]:
        return [*self._in_encoded_texts(text), *self._among_escapes(text)] if self._hint.search(text) else []

    def _in_encoded_texts(self, text: bytes) -> Iterator[Finding]:
        for (start, end), content in self._contents(text):
            if self._secrets.suspects(content) and (findings := self._secrets.findings(content, "")):
                yield Finding(start, end, findings[0].kind)

    def _among_escapes(self, text: bytes) -> Iterator[Finding]:
        plain = self._plain_text(text)
        if not self._secrets.suspects(plain.text):
            return
        for finding in self._secrets.findings(plain.text, ""):
            yield Finding(plain.place(finding.start), plain.place(finding.end), finding.kind)

    def _plain_text(self, data: bytes) -> "_PlainText":
        """Return data with the characters that its escapes stand for; empty if there are none."""
        pieces, places, shifts, position = [], [], [0], 0
        size = data.count(b"%") + data.count(b"\\") + data.count(b"&#")
        expression = _ESCAPES if size * _DENSITY > len(data) else self._escapes
        for match in expression.finditer(data):
            start, end = match.span()
            pieces += [data[position:start], _character(match[0])]
            places.append(start - shifts[-1])
            shifts.append(shifts[-1] + end - start - 1)
            position = end
        return _PlainText(b"".join([*pieces, data[position:]]) if pieces else b"", places, shifts)

    def _contents(self, data: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
        """Yield the place of each text that looks encoded, and what it contains."""
        left = len(data) + _INFLATED_SIZE
        for match in self._archives.finditer(data):
            text = _inflate(_from_base64(match[0][:_INFLATED_SIZE]), min(left, _INFLATED_SIZE)) if left > 0 else b""
            left -= len(text)
            yield match.span(), text
        for match in self._base64.finditer(data):
            yield match.span(), _from_base64(match[0])
        for match in self._hex.finditer(data):
            yield match.span(), binascii.unhexlify(match[0].translate(None, _SEPARATORS))


@dataclass(frozen=True, slots=True)
class _PlainText:
    """A text without its escapes.

    `places` are those of the characters that were escaped, and `shifts` by how much the text became shorter before each
    of them and after the last.
    """

    text: bytes
    places: list[int]
    shifts: list[int]

    def place(self, position: int) -> int:
        """Return where a position of the text is in the text with escapes."""
        return position + self.shifts[bisect_left(self.places, position)]


@cache
def encoded_secret_detector() -> EncodedSecretDetector:
    return EncodedSecretDetector(secret_detector())


def _from_base64(text: bytes) -> bytes:
    if b"\n" in text or b"\\" in text:
        text = _BREAKS.sub(b"", text)
    letters = text.rstrip(b"=").translate(_URL_SAFE)
    # A single letter at the end encodes nothing.
    letters = letters[: len(letters) - (len(letters) % 4 == 1)]
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))


def _inflate(data: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj(_GZIP_OR_ZLIB).decompress(data, size)
    except zlib.error:
        return b""


@cache
def _character(escape: bytes) -> bytes:
    if escape == b"\\/":
        return b"/"
    return bytes([int(escape[2:-1])]) if escape.startswith(b"&") else binascii.unhexlify(escape[-2:])
