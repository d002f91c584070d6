"""Word hunks: the words in which two texts differ, with their counterparts. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.sequences.anchors import differing_ranges

_TOKEN: Final = re.compile(r"\w+")
# Longer texts are not compared word by word.
_MAX_CHARACTERS: Final = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """Differing words of two texts that correspond to each other, with their positions."""

    base: str
    candidate: str
    base_span: tuple[int, int]
    candidate_span: tuple[int, int]


def hunks(base: str, candidate: str) -> list[Hunk]:
    """The words in which two texts differ; words of only one text have an empty counterpart."""
    if max(len(base), len(candidate)) > _MAX_CHARACTERS:
        return []
    left, right = list(_TOKEN.finditer(base)), list(_TOKEN.finditer(candidate))
    return [
        Hunk(
            base=base[slice(*base_span)],
            candidate=candidate[slice(*candidate_span)],
            base_span=base_span,
            candidate_span=candidate_span,
        )
        for mine, theirs in differing_ranges(_words(left), _words(right))
        for base_span, candidate_span in [(_span(left, mine), _span(right, theirs))]
    ]


def is_copy(value: Hunk, source: Hunk) -> bool:
    """True if an output contains the words of a value as one sequence, on both sides."""
    return contains_words(value.base, source.base) and contains_words(value.candidate, source.candidate)


def is_repeated(value: Hunk, source: Hunk) -> bool:
    """True if an output contains the words of a text that was passed on; one side may be empty in both."""
    sides = (value.base, source.base), (value.candidate, source.candidate)
    return all(
        contains_words(value_words, source_words) or not (value_words or source_words)
        for value_words, source_words in sides
    )


def _words(matches: Sequence[re.Match[str]]) -> list[str]:
    return [match.group().casefold() for match in matches]


def split_words(text: str) -> list[str]:
    return _words(list(_TOKEN.finditer(text)))


def _span(matches: Sequence[re.Match[str]], places: range) -> tuple[int, int]:
    if places:
        return matches[places.start].start(), matches[places.stop - 1].end()
    at = matches[places.start].start() if places.start < len(matches) else matches[-1].end() if matches else 0
    return at, at


def contains_words(text: str, source: str) -> bool:
    """True if `source` contains the words of `text` as one sequence."""
    return bool(text) and any(_matches_at(split_words(text), split_words(source)))


def _matches_at(words: Sequence[str], source_words: Sequence[str]) -> Iterator[bool]:
    return (source_words[at : at + len(words)] == words for at in range(len(source_words) - len(words) + 1))


def share_word(text: str, source: str) -> bool:
    """True if two texts have a word in common."""
    return not {*split_words(text)}.isdisjoint(split_words(source))
