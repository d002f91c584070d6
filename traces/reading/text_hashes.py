"""A set of texts in bounded memory. Pure."""

from collections.abc import Hashable, Iterable
from typing import Final

# About 30 MB as a set; beyond, 16 MiB of bits.
MOST_HASHES: Final = 300_000
_BITS: Final = 2**27


class TextHashes:
    """The hashes of values: exact up to a number of them, then in a field of bits.

    Then a value that was not added may seem to be: of ten million, one in fourteen.
    """

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._bits: bytearray | None = None

    def update(self, values: Iterable[Hashable]) -> None:
        hashes = set(map(hash, values))
        if self._bits is None:
            self._hashes |= hashes
            if len(self._hashes) <= MOST_HASHES:
                return
            self._bits, hashes, self._hashes = bytearray(_BITS // 8), self._hashes, set()
        bits = self._bits
        for number in hashes:
            bits[(number % _BITS) >> 3] |= 1 << (number & 7)

    def __contains__(self, value: Hashable) -> bool:
        number = hash(value)
        if self._bits is None:
            return number in self._hashes
        return bool(self._bits[(number % _BITS) >> 3] & 1 << (number & 7))
