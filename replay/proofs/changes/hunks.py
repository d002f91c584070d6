"""A changed value in parts that can be changed on their own: sentences, words, list items, fields. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.sentences.changes import edit_phrase
from diffing.sentences.text import format_value
from diffing.sequences.anchors import differing_ranges
from diffing.sequences.text_diff import shorten, tokens
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

MOST: Final = 24  # parts at one level; more are taken together at the end
_QUOTED: Final = 70
_SENTENCE: Final = re.compile(r"[^\n.!?]*(?:[.!?]+(?=\s|$)|\n|$)\s*")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One place that differs, with both values. A text's part may be empty on one side."""

    title: str
    base: JSONValue
    candidate: JSONValue


@dataclass(frozen=True, kw_only=True)
class Division:
    """A value in parts; `build` makes it from one value for each part."""

    parts: tuple[Part, ...]
    build: Callable[[Sequence[JSONValue]], JSONValue]


def divide(base: JSONValue, candidate: JSONValue) -> Division | None:
    """The parts of a change; None where it is one thing."""
    found: Division | None = None
    if isinstance(base, str) and isinstance(candidate, str):
        found = _sentences(base, candidate) or _stretched(base, candidate)
    elif isinstance(base, dict) and isinstance(candidate, dict):
        found = _fields(base, candidate)
    elif isinstance(base, list) and isinstance(candidate, list):
        found = _items(base, candidate)
    return found if found is not None and len(found.parts) > 1 else None


def _sentences(base: str, candidate: str) -> Division | None:
    """Sentence by sentence; a new or an old one is one thing."""
    left, right = [*filter(None, _SENTENCE.findall(base))], [*filter(None, _SENTENCE.findall(candidate))]
    pieces: list[str | Part] = []
    for equal, mine, theirs in _stretches(left, right):
        if equal:
            pieces.append("".join(left[mine.start : mine.stop]))
        else:
            pieces += _pieces(left[mine.start : mine.stop], right[theirs.start : theirs.stop])
    return _in_parts(_without_blank(pieces))


def _stretched(base: str, candidate: str) -> Division | None:
    """Inside of a sentence that was reworded: each stretch of words that differ."""
    if not base.strip() or not candidate.strip():
        return None
    left, right = _words(base), _words(candidate)
    pieces: list[str | Part] = []
    for equal, mine, theirs in _stretches(left, right):
        before, after = "".join(left[mine.start : mine.stop]), "".join(right[theirs.start : theirs.stop])
        pieces.append(before if equal else Part(title=_title(before, after), base=before, candidate=after))
    return _in_parts(_without_blank(pieces))


def _in_parts(pieces: Sequence[str | Part]) -> Division | None:
    parts = tuple(piece for piece in pieces if isinstance(piece, Part))
    if not 1 < len(parts) <= MOST:
        return None

    def build(values: Sequence[JSONValue]) -> JSONValue:
        given = iter(values)
        return "".join(str(next(given)) if isinstance(piece, Part) else piece for piece in pieces)

    return Division(parts=parts, build=build)


def _pieces(left: Sequence[str], right: Sequence[str]) -> list[Part]:
    """Pieces that differ, in pairs; those that are over are only gone, or only new."""
    count = max(len(left), len(right))
    pairs = [(left[at] if at < len(left) else "", right[at] if at < len(right) else "") for at in range(count)]
    return [
        Part(title=_title(before, after), base=before, candidate=after) for before, after in pairs if before != after
    ]


def _without_blank(pieces: Sequence[str | Part]) -> list[str | Part]:
    """White space that changed belongs to the words after it; at the end, to those before."""
    forward = _joined(pieces, lambda before, piece: _is_blank(before))
    return _joined(forward, lambda before, piece: _is_blank(piece))


def _joined(pieces: Sequence[str | Part], belong: Callable[[Part, Part], bool]) -> list[str | Part]:
    found: list[str | Part] = []
    for piece in pieces:
        before = found[-1] if found else None
        if isinstance(piece, Part) and isinstance(before, Part) and belong(before, piece):
            base, candidate = f"{before.base}{piece.base}", f"{before.candidate}{piece.candidate}"
            found[-1] = Part(title=_title(base, candidate), base=base, candidate=candidate)
        else:
            found.append(piece)
    return found


def _title(base: str, candidate: str) -> str:
    if not base.strip() and candidate.strip():
        return f"Adding “{shorten(candidate, _QUOTED)}”"
    if not candidate.strip() and base.strip():
        return f"Removing “{shorten(base, _QUOTED)}”"
    return edit_phrase(base, candidate, "the text")


def _is_blank(part: Part) -> bool:
    return str(part.base).strip() == str(part.candidate).strip()


def _words(text: str) -> list[str]:
    """Words with the space after them."""
    found: list[str] = []
    for token in tokens(text):
        if found and token.isspace():
            found[-1] += token
        else:
            found.append(token)
    return found


def _fields(base: JSONObject, candidate: JSONObject) -> Division:
    names = [name for name in dict.fromkeys([*base, *candidate]) if _at(base, name) != _at(candidate, name)]
    parts = tuple(
        Part(
            title=f"{name}: {_shown(base, name)} → {_shown(candidate, name)}",
            base=_at(base, name),
            candidate=_at(candidate, name),
        )
        for name in names
    )

    def build(values: Sequence[JSONValue]) -> JSONValue:
        built: JSONObject = {name: _at(base, name) for name in dict.fromkeys([*base, *candidate])}
        built |= dict(zip(names, values, strict=True))
        return {name: item[0] for name, item in built.items() if isinstance(item, list) and item}

    return Division(parts=parts, build=build)


def _items(base: Sequence[JSONValue], candidate: Sequence[JSONValue]) -> Division:
    """The items of a list, aligned by what they hold; an item may be on one side only."""
    keys = [digest(item) for item in base], [digest(item) for item in candidate]
    pieces: list[list[JSONValue] | Part] = []
    for equal, mine, theirs in _stretches(*keys):
        if equal:
            pieces.append(list(base[mine.start : mine.stop]))
            continue
        left, right = base[mine.start : mine.stop], candidate[theirs.start : theirs.stop]
        for at in range(max(len(left), len(right))):
            pieces.append(_item(list(left[at : at + 1]), list(right[at : at + 1])))
    parts = tuple(piece for piece in pieces if isinstance(piece, Part))

    def build(values: Sequence[JSONValue]) -> JSONValue:
        given = iter(values)
        taken = (next(given) if isinstance(piece, Part) else piece for piece in pieces)
        return [item for piece in taken if isinstance(piece, list) for item in piece]

    return Division(parts=parts, build=build)


def _item(base: list[JSONValue], candidate: list[JSONValue]) -> Part:
    if not base:
        return Part(title=f"Adding {_named(candidate[0])}", base=[], candidate=list(candidate))
    if not candidate:
        return Part(title=f"Leaving out {_named(base[0])}", base=list(base), candidate=[])
    title = f"{_named(candidate[0])} instead of {_named(base[0])}"
    return Part(title=title, base=list(base), candidate=list(candidate))


def _named(item: JSONValue) -> str:
    """A document by its id or title, anything else as it is."""
    if isinstance(item, dict):
        name = item.get("id") or item.get("title") or item.get("name") or item.get("content")
        return f"“{shorten(str(name), _QUOTED)}”" if name else format_value(item)
    return format_value(item)


def _stretches(base: Sequence[str], candidate: Sequence[str]) -> list[tuple[bool, range, range]]:
    """Equal and differing stretches in turn, over both lists."""
    found: list[tuple[bool, range, range]] = []
    at = (0, 0)
    for mine, theirs in differing_ranges(base, candidate):
        if mine.start > at[0] or theirs.start > at[1]:
            found.append((True, range(at[0], mine.start), range(at[1], theirs.start)))
        found.append((False, range(mine.start, mine.stop), range(theirs.start, theirs.stop)))
        at = (mine.stop, theirs.stop)
    if at[0] < len(base):
        found.append((True, range(at[0], len(base)), range(at[1], len(candidate))))
    return found


def _at(value: Mapping[str, JSONValue], name: str) -> list[JSONValue]:
    """A field as a list of one, or of none where it is absent."""
    return [value[name]] if name in value else []


def _shown(value: Mapping[str, JSONValue], name: str) -> str:
    return format_value(value[name]) if name in value else "nothing"
