"""The words in which two texts differ, each beside what stands in its place. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.sequences.anchors import differing

_TOKEN: Final = re.compile(r"\w+")
_MOST: Final = 20_000  # characters of a text that is compared word by word


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """Words of two texts that stand in each other's place, with where they stand."""

    base: str
    candidate: str
    base_span: tuple[int, int]
    candidate_span: tuple[int, int]


def hunks(base: str, candidate: str) -> list[Hunk]:
    """The words in which two texts differ; what only one of them has stands beside an empty text."""
    if max(len(base), len(candidate)) > _MOST:
        return []
    left, right = list(_TOKEN.finditer(base)), list(_TOKEN.finditer(candidate))
    return [
        Hunk(base=base[slice(*one)], candidate=candidate[slice(*other)], base_span=one, candidate_span=other)
        for mine, theirs in differing(_words(left), _words(right))
        for one, other in [(_span(left, mine), _span(right, theirs))]
    ]


def is_copy(value: Hunk, source: Hunk) -> bool:
    """Whether the words of a value stand together in those of an output, on both sides."""
    return stands_in(value.base, source.base) and stands_in(value.candidate, source.candidate)


def is_repeated(value: Hunk, source: Hunk) -> bool:
    """The same of a text that was passed on; words that only one side has are as good then."""
    sides = (value.base, source.base), (value.candidate, source.candidate)
    return all(stands_in(own, other) or not (own or other) for own, other in sides)


def _words(matches: Sequence[re.Match[str]]) -> list[str]:
    return [match.group().casefold() for match in matches]


def words_of(text: str) -> list[str]:
    return _words(list(_TOKEN.finditer(text)))


def _span(matches: Sequence[re.Match[str]], places: range) -> tuple[int, int]:
    if places:
        return matches[places.start].start(), matches[places.stop - 1].end()
    at = matches[places.start].start() if places.start < len(matches) else matches[-1].end() if matches else 0
    return at, at


def stands_in(text: str, other: str) -> bool:
    """Whether the words of a text stand together in another one."""
    return bool(text) and any(_runs(words_of(text), words_of(other)))


def _runs(words: Sequence[str], others: Sequence[str]) -> Iterator[bool]:
    return (others[at : at + len(words)] == words for at in range(len(others) - len(words) + 1))


def meets(text: str, other: str) -> bool:
    """Whether two texts have a word in common."""
    return not {*words_of(text)}.isdisjoint(words_of(other))
