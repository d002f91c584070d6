"""Word hunks: the words in which two texts differ, with their counterparts. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.sequences.anchors import differing_ranges

_TOKEN: Final = re.compile(r"\w+")
# So many words in a row hardly occur in two texts by chance, however short they are.
PHRASE: Final = 3
# Longer texts are not compared word by word.
_MAX_CHARACTERS: Final = 20_000
# The word before a position lies within this many characters.
_REACH: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """Differing words of two texts that correspond to each other, with their positions."""

    base: str
    candidate: str
    base_span: tuple[int, int]
    candidate_span: tuple[int, int]

    @property
    def mirror(self) -> "Hunk":
        """The same difference with the sides exchanged."""
        return Hunk(
            base=self.candidate, candidate=self.base, base_span=self.candidate_span, candidate_span=self.base_span
        )


def hunks(base: str, candidate: str) -> list[Hunk]:
    """The words in which two texts differ; words of only one text have an empty counterpart."""
    if max(len(base), len(candidate)) > _MAX_CHARACTERS:
        return []
    left, right = list(_TOKEN.finditer(base)), list(_TOKEN.finditer(candidate))
    return [
        _hunk(base, candidate, *spans)
        for mine, theirs in differing_ranges(_words(left), _words(right))
        for spans in _line_spans((base, candidate), (_span(left, mine), _span(right, theirs)))
    ]


def _hunk(base: str, candidate: str, base_span: tuple[int, int], candidate_span: tuple[int, int]) -> Hunk:
    return Hunk(
        base=base[slice(*base_span)],
        candidate=candidate[slice(*candidate_span)],
        base_span=base_span,
        candidate_span=candidate_span,
    )


def _line_spans(
    texts: tuple[str, str], spans: tuple[tuple[int, int], tuple[int, int]]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The parts of a difference line by line, if it has words on the same lines of both sides."""
    lines = [
        [words for words in map(_line_words, _split_lines(text, span)) if words is not None]
        for text, span in zip(texts, spans, strict=True)
    ]
    counts = {text[slice(*span)].count("\n") + 1 for text, span in zip(texts, spans, strict=True)}
    return list(zip(*lines, strict=True)) if counts == {len(lines[0])} == {len(lines[1])} else [spans]


def passage(text: str, other: str, differences: Sequence[Hunk], at: int) -> tuple[str, str] | None:
    """One of the differences with enough words around it to occur once in a text, and that passage of the other text.

    The words around it are equal on both sides. None if there are not enough of them.
    """
    before, after = _passage_ends(text, [hunk.base_span for hunk in differences], at)
    other_before, other_after = _passage_ends(other, [hunk.candidate_span for hunk in differences], at)
    for count in range(1, max(len(before), len(after)) + 1):
        own, counterpart = (
            source[starts[min(count, len(starts)) - 1] : ends[min(count, len(ends)) - 1]]
            for source, starts, ends in ((text, before, after), (other, other_before, other_after))
        )
        if own and text.count(own) == 1:
            return own, counterpart
    return None


def _passage_ends(text: str, spans: Sequence[tuple[int, int]], at: int) -> tuple[list[int], list[int]]:
    """Where a passage around a span may start and end, the nearest first: at words up to the other spans."""
    first = spans[at - 1][1] if at else 0
    last = spans[at + 1][0] if at + 1 < len(spans) else len(text)
    starts = [match.start() for match in _TOKEN.finditer(text, first, spans[at][0])][::-1]
    ends = [match.end() for match in _TOKEN.finditer(text, spans[at][1], last)]
    return starts or [first], ends or [last]


def neighbours(text: str, span: tuple[int, int]) -> tuple[str, str]:
    """The words before and after a span, without case."""
    before = [match.group() for match in _TOKEN.finditer(text, max(0, span[0] - _REACH), span[0])]
    after = _TOKEN.search(text, span[1])
    return before[-1].casefold() if before else "", after.group().casefold() if after else ""


def with_hunks(base: str, part: Sequence[Hunk], candidate: str) -> str:
    """The base's text with only these differences to the candidate's."""
    pieces: list[str] = []
    at = 0
    for hunk in part:
        (start, end), (other_start, other_end) = hunk.base_span, hunk.candidate_span
        left, right = _gap(base, hunk.base_span), _gap(candidate, hunk.candidate_span)
        # Without words of its own, a span lies in a gap: what separates the words there comes from the other side.
        if start == end or other_start == other_end:
            start, end, other_start, other_end = left[0], left[1], right[0], right[1]
        pieces += [base[at:start], candidate[other_start:other_end]]
        at = end
    return "".join(pieces) + base[at:]


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


def spaced_words(hunk: Hunk) -> tuple[str, str]:
    """The words of both sides between spaces, so that those of another difference are found in them as a text."""
    base, candidate = (" ".join(("", *split_words(text), "")) if text else "" for text in (hunk.base, hunk.candidate))
    return base, candidate


def _gap(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A span with what separates it from the words before and after it."""
    start = max(0, span[0] - _REACH)
    ends = [match.end() for match in _TOKEN.finditer(text, start, span[0])]
    after = _TOKEN.search(text, span[1])
    return ends[-1] if ends else start, after.start() if after else len(text)


def _split_lines(text: str, span: tuple[int, int]) -> list[list[re.Match[str]]]:
    """The words of a span, line by line."""
    lines: list[list[re.Match[str]]] = [[]]
    at = span[0]
    for match in _TOKEN.finditer(text, *span):
        if "\n" in text[at : match.start()]:
            lines.append([])
        lines[-1].append(match)
        at = match.end()
    return lines


def _line_words(words: Sequence[re.Match[str]]) -> tuple[int, int] | None:
    return (words[0].start(), words[-1].end()) if words else None


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


def share_phrase(text: str, source: str) -> bool:
    """True if two texts have words in a row in common that hardly occur in both by chance."""
    phrases, source_phrases = (_phrases(split_words(own)) for own in (text, source))
    return not phrases.isdisjoint(source_phrases)


def _phrases(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {*zip(*(words[at:] for at in range(PHRASE)), strict=False)}


def share_word(text: str, source: str) -> bool:
    """True if two texts have a word in common."""
    return not {*split_words(text)}.isdisjoint(split_words(source))
