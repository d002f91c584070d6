"""Detector of values that other detectors found elsewhere in a run: its time is linear, however many there are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from traces.redaction.findings import Finding

# Shorter values, and words, may occur by chance: they are redacted only in their place.
SHORTEST: Final = 6
# A text is compared with the values that begin as it does here, and with the long ones of these by more bytes: keys of
# one service all begin alike.
_LONG: Final = 64
# So many are looked for one by one, which takes no time; an expression of thousands takes minutes.
_MOST_SEARCHES: Final = 32


class LiteralDetector:
    """Finds values that a detector found elsewhere in the run, where their context does not give them away."""

    version = "literals"

    def __init__(self, kinds: Mapping[bytes, str]) -> None:
        self._kinds = kinds
        self._starts = frozenset(literal[:SHORTEST] for literal in kinds)
        short = (literal for literal in kinds if len(literal) <= _LONG)
        long = (literal for literal in kinds if len(literal) > _LONG)
        # The longest first, because one value may begin with another.
        self._lengths = ((_LONG, _lengths_by_start(long, _LONG)), (SHORTEST, _lengths_by_start(short, SHORTEST)))

    def suspects(self, data: bytes) -> bool:
        if len(self._kinds) <= _MOST_SEARCHES:
            return any(literal in data for literal in self._kinds)
        return next(self._matches(data), None) is not None

    def findings(self, text: bytes, name: str) -> Sequence[Finding]:
        return list(self._matches(text)) if self.suspects(text) else []

    def _matches(self, text: bytes) -> Iterator[Finding]:
        position = 0
        while position <= len(text) - SHORTEST:
            is_start = text[position : position + SHORTEST] in self._starts
            if is_start and (literal := self._literal_at(text, position)):
                yield Finding(position, position + len(literal), self._kinds[literal])
                position += len(literal)
            else:
                position += 1

    def _literal_at(self, text: bytes, position: int) -> bytes:
        """Return the longest value at a position; empty if there is none."""
        for start_size, lengths in self._lengths:
            for length in lengths.get(text[position : position + start_size], ()):
                literal = text[position : position + length]
                if literal in self._kinds:
                    return literal
        return b""


def _lengths_by_start(literals: Iterable[bytes], size: int) -> dict[bytes, list[int]]:
    """Return the lengths of the values that begin with the same bytes, the longest first."""
    lengths: dict[bytes, set[int]] = {}
    for literal in literals:
        lengths.setdefault(literal[:size], set()).add(len(literal))
    return {start: sorted(sizes, reverse=True) for start, sizes in lengths.items()}
