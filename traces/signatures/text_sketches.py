"""Short marks of long texts, by which those that have much in common are found without being compared. Pure.

A mark has a place for each of some groups of word pairs, and there the least hash of the pairs in it: two texts agree
in about as many places as is the share of word pairs that they have in common.
"""

import zlib
from itertools import pairwise
from typing import Final

PLACES: Final = 32
_FIRST: Final = 0x4E00  # of a block of letters that every database keeps as they are
_LETTERS: Final = 20_000


def sketch(text: str) -> str:
    """The mark of a text: as many letters as there are places."""
    words = text.split()
    least = [0xFFFFFFFF] * PLACES
    for pair in {f"{one} {other}" for one, other in pairwise(words)}:
        value = zlib.crc32(pair.encode())
        place, rest = value % PLACES, value // PLACES
        least[place] = min(least[place], rest)
    return "".join(chr(_FIRST + value % _LETTERS) for value in least)


def written(number: int) -> str:
    """A number below 400 million as two letters of the same kind."""
    return "".join(chr(_FIRST + part) for part in (number % _LETTERS, number // _LETTERS))


def read(letters: str) -> int:
    """The number that two letters mean."""
    low, high = (ord(letter) - _FIRST for letter in letters)
    return low + high * _LETTERS
