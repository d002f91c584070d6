"""The bytes of a run's parts, compressed in memory: the requests of a long run repeat thousands of references. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

import zstandard

# Parts per block. The runs of most imports have fewer and are never compressed.
_BLOCK: Final = 512
# Canonical JSON has none.
_SEPARATOR: Final = b"\n"
_LEVEL: Final = 1


class CompressedParts(Mapping[str, bytes]):
    """Parts by digest, in the order in which they came. It is fast to read them in that order."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all parts."""
        self._numbers: dict[str, int] = {}
        self._frames: list[bytes] = []
        # The parts that do not fill a block yet.
        self._last: list[bytes] = []
        # The block that was read last, and its number.
        self._block: list[bytes] = []
        self._block_number = -1

    def add(self, digest: str, data: bytes) -> None:
        """Add a part, unless it is among these already."""
        numbers = self._numbers
        if digest in numbers:
            return
        if len(self._last) == _BLOCK:
            frame = zstandard.ZstdCompressor(level=_LEVEL).compress(_SEPARATOR.join(self._last))
            self._frames.append(_trim(frame))
            self._last = []
        numbers[digest] = len(numbers)
        self._last.append(_trim(data))

    def __getitem__(self, digest: str) -> bytes:
        place = self._numbers[digest]
        if not self._frames:
            return self._last[place]
        number, position = divmod(place, _BLOCK)
        if number == len(self._frames):
            return self._last[position]
        if number != self._block_number:
            self._block_number = number
            self._block = zstandard.ZstdDecompressor().decompress(self._frames[number]).split(_SEPARATOR)
        return self._block[position]

    def __contains__(self, digest: object) -> bool:
        return digest in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def _trim(data: bytes) -> bytes:
    """Return a copy: orjson and zstandard retain the whole buffer that they wrote into."""
    return bytes(memoryview(data))
