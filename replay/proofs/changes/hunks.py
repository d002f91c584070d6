"""Divide a changed value into parts that can be changed independently: sentences, words, items, fields. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Final

from diffing.sentences.atoms import titles
from diffing.sequences.anchors import differing_ranges
from diffing.sequences.text_diff import tokens
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

# A text with more parts at one level is not divided.
MOST: Final = 24
# A point within a word, as in 3.14, ends no sentence.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n\s*")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One place that differs, with both values. A part of a text may be empty on one side."""

    title: str
    base: JSONValue
    candidate: JSONValue


@dataclass(frozen=True, kw_only=True)
class Division:
    """A value in parts; `build` assembles it from one value for each part."""

    parts: tuple[Part, ...]
    build: Callable[[Sequence[JSONValue]], JSONValue]


def divide(base: JSONValue, candidate: JSONValue) -> Division | None:
    """Divide a change into parts; None if it has no parts."""
    division: Division | None = None
    if isinstance(base, str) and isinstance(candidate, str):
        division = _sentences(base, candidate) or _word_stretches(base, candidate)
    elif isinstance(base, dict) and isinstance(candidate, dict):
        division = _fields(base, candidate)
    elif isinstance(base, list) and isinstance(candidate, list):
        division = _items(base, candidate)
    return division if division is not None and len(division.parts) > 1 else None


def _sentences(base: str, candidate: str) -> Division | None:
    """Divide a text by sentences; an added or removed sentence is one part."""
    left, right = _split_sentences(base), _split_sentences(candidate)
    pieces: list[str | Part] = []
    for equal, mine, theirs in _stretches(left, right):
        if equal:
            pieces.append("".join(left[mine.start : mine.stop]))
        else:
            pieces += _pieces(left[mine.start : mine.stop], right[theirs.start : theirs.stop])
    return _in_parts(_without_blank(pieces))


def _word_stretches(base: str, candidate: str) -> Division | None:
    """Divide a reworded sentence into the stretches of words that differ."""
    if not base.strip() or not candidate.strip():
        return None
    left, right = _words(base), _words(candidate)
    pieces: list[str | Part] = []
    for equal, mine, theirs in _stretches(left, right):
        before, after = "".join(left[mine.start : mine.stop]), "".join(right[theirs.start : theirs.stop])
        pieces.append(before if equal else Part(title=titles.text_part(before, after), base=before, candidate=after))
    return _in_parts(_without_blank(pieces))


def _in_parts(pieces: Sequence[str | Part]) -> Division | None:
    parts = tuple(piece for piece in pieces if isinstance(piece, Part))
    if not 1 < len(parts) <= MOST:
        return None

    def build(values: Sequence[JSONValue]) -> JSONValue:
        remaining = iter(values)
        return "".join(str(next(remaining)) if isinstance(piece, Part) else piece for piece in pieces)

    return Division(parts=parts, build=build)


def _pieces(left: Sequence[str], right: Sequence[str]) -> list[Part]:
    """Pair the pieces that differ; surplus ones are removed or added."""
    pairs = zip_longest(left, right, fillvalue="")
    return [
        Part(title=titles.text_part(before, after), base=before, candidate=after)
        for before, after in pairs
        if before != after
    ]


def _without_blank(pieces: Sequence[str | Part]) -> list[str | Part]:
    """Attach changed white space to the words after it, or at the end to those before it."""
    forward = _join(pieces, lambda before, piece: _is_blank(before))
    return _join(forward, lambda before, piece: _is_blank(piece))


def _join(pieces: Sequence[str | Part], belong: Callable[[Part, Part], bool]) -> list[str | Part]:
    joined_pieces: list[str | Part] = []
    for piece in pieces:
        before = joined_pieces[-1] if joined_pieces else None
        if isinstance(piece, Part) and isinstance(before, Part) and belong(before, piece):
            base, candidate = f"{before.base}{piece.base}", f"{before.candidate}{piece.candidate}"
            joined_pieces[-1] = Part(title=titles.text_part(base, candidate), base=base, candidate=candidate)
        else:
            joined_pieces.append(piece)
    return joined_pieces


def _is_blank(part: Part) -> bool:
    return str(part.base).strip() == str(part.candidate).strip()


def _split_sentences(text: str) -> list[str]:
    """Sentences with the space after them."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end]


def _words(text: str) -> list[str]:
    """Words with the space after them."""
    words: list[str] = []
    for token in tokens(text):
        if words and token.isspace():
            words[-1] += token
        else:
            words.append(token)
    return words


def _fields(base: JSONObject, candidate: JSONObject) -> Division:
    names = [name for name in dict.fromkeys([*base, *candidate]) if _at(base, name) != _at(candidate, name)]
    parts = tuple(
        Part(
            title=titles.field_part(name, _at(base, name), _at(candidate, name)),
            base=_at(base, name),
            candidate=_at(candidate, name),
        )
        for name in names
    )

    def build(values: Sequence[JSONValue]) -> JSONValue:
        fields: JSONObject = {name: _at(base, name) for name in dict.fromkeys([*base, *candidate])}
        fields |= dict(zip(names, values, strict=True))
        return {name: item[0] for name, item in fields.items() if isinstance(item, list) and item}

    return Division(parts=parts, build=build)


def _items(base: Sequence[JSONValue], candidate: Sequence[JSONValue]) -> Division:
    """Divide a list by items, aligned by content; an item may be on one side only."""
    keys = [digest(item) for item in base], [digest(item) for item in candidate]
    pieces: list[list[JSONValue] | Part] = []
    for equal, mine, theirs in _stretches(*keys):
        if equal:
            pieces.append(list(base[mine.start : mine.stop]))
            continue
        left, right = base[mine.start : mine.stop], candidate[theirs.start : theirs.stop]
        for index in range(max(len(left), len(right))):
            pieces.append(_item(list(left[index : index + 1]), list(right[index : index + 1])))
    parts = tuple(piece for piece in pieces if isinstance(piece, Part))

    def build(values: Sequence[JSONValue]) -> JSONValue:
        remaining = iter(values)
        chunks = (next(remaining) if isinstance(piece, Part) else piece for piece in pieces)
        return [item for chunk in chunks if isinstance(chunk, list) for item in chunk]

    return Division(parts=parts, build=build)


def _item(base: list[JSONValue], candidate: list[JSONValue]) -> Part:
    return Part(title=titles.item_part(base, candidate), base=list(base), candidate=list(candidate))


def _stretches(base: Sequence[str], candidate: Sequence[str]) -> list[tuple[bool, range, range]]:
    """The alternating equal and differing_ranges stretches of both lists."""
    stretches: list[tuple[bool, range, range]] = []
    end = (0, 0)
    for mine, theirs in differing_ranges(base, candidate):
        if mine.start > end[0] or theirs.start > end[1]:
            stretches.append((True, range(end[0], mine.start), range(end[1], theirs.start)))
        stretches.append((False, range(mine.start, mine.stop), range(theirs.start, theirs.stop)))
        end = (mine.stop, theirs.stop)
    if end[0] < len(base):
        stretches.append((True, range(end[0], len(base)), range(end[1], len(candidate))))
    return stretches


def _at(value: Mapping[str, JSONValue], name: str) -> list[JSONValue]:
    """A field as a list of one value, or an empty list if it is absent."""
    return [value[name]] if name in value else []
