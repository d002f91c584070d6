"""Sketches of texts (one-permutation MinHash): find similar texts without comparing them. Pure.

Word pairs are hashed into `PLACES` groups; a sketch contains the smallest hash of each group. The share of places in
which two sketches agree estimates the share of word pairs that the texts have in common.
"""

import zlib
from itertools import pairwise
from typing import Final

PLACES: Final = 32
# The first letter of a Unicode block that every database stores unchanged.
_FIRST: Final = 0x4E00
_LETTERS: Final = 20_000


def sketch(text: str) -> str:
    """Return the sketch of a text: one letter per place."""
    words = text.split()
    least = [0xFFFFFFFF] * PLACES
    for pair in {f"{first} {second}" for first, second in pairwise(words)}:
        value = zlib.crc32(pair.encode())
        place, rest = value % PLACES, value // PLACES
        least[place] = min(least[place], rest)
    return "".join(chr(_FIRST + value % _LETTERS) for value in least)


def encode(number: int) -> str:
    """Encode a number below 400 million as two letters of the same block."""
    return "".join(chr(_FIRST + part) for part in (number % _LETTERS, number // _LETTERS))


def decode(letters: str) -> int:
    """Decode the number in two letters."""
    low, high = (ord(letter) - _FIRST for letter in letters)
    return low + high * _LETTERS
