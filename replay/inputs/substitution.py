"""Substitute changed values inside texts that code composed. Pure.

Example: a model answered ``billing`` and now answers ``tech support``; code wrote ``You work for BILLING.``, which
becomes ``You work for TECH SUPPORT.``: the new value gets the formatting of the old one. If the new text is unknown,
the result is None.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from replay.inputs.changes import Change
from replay.inputs.texts import texts_in
from replay.inputs.value_pointers import resolve_pointer
from traces.core.json_types import JSONValue
from traces.provenance.short_values import (
    Span,
    ValueIndex,
    ValueKind,
    output_values,
    tokens_of,
    words_of,
)
from traces.provenance.text_index import SHINGLE

_CASES: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: text,
    str.upper,
    str.lower,
    str.title,
    str.capitalize,
)
_SEPARATORS: Final = ("", " ", "-", "_")
_SEPARATOR: Final = re.compile(r"[\s_-]+")


def substitute(text: str, change: Change) -> str | None:
    """Replace a changed output's values in a text; None if a replacement is unknown."""
    if not change.is_known:
        return None
    values, old_runs, current_runs = _contents(change)
    spans = values.find(text)
    pieces: list[_Piece] = []
    at = 0
    for span in spans:
        old = text[span.start : span.end]
        new = old if _is_kept(text, span, old_runs & current_runs) else _replacement(old, span, change)
        if new is None:
            return None
        pieces += [_Piece(text[at : span.start]), _Piece(old, new, span.sources[0].kind)]
        at = span.end
    pieces.append(_Piece(text[at:]))
    quoted_runs = [_quoted_runs(part, old_runs) for part in _between_values(pieces)]
    if None in quoted_runs or not (spans or any(quoted_runs)):
        return None
    is_held = set[tuple[str, ...]]().union(*filter(None, quoted_runs)) <= current_runs
    return "".join(piece.result for piece in pieces) if is_held else None


def quoted_phrases(text: str, change: Change) -> AbstractSet[tuple[str, ...]]:
    """Return the phrases of a changed output, as it was recorded, in a text."""
    return _contents(change).old_runs & {*_runs(text)}


class _Contents(NamedTuple):
    """The values of the recorded output, and the phrases of both outputs."""

    values: ValueIndex
    old_runs: AbstractSet[tuple[str, ...]]
    current_runs: AbstractSet[tuple[str, ...]]


# Many texts may quote one output.
@lru_cache(maxsize=32)
def _contents(change: Change) -> _Contents:
    index = ValueIndex()
    index.add(change.node.no, output_values(change.node.type, change.original))
    return _Contents(index, _runs_in(change.original), _runs_in(change.current))


def _is_kept(text: str, span: Span, kept_runs: AbstractSet[tuple[str, ...]]) -> bool:
    """True if a token stands in a phrase that both outputs contain, as a date that several documents have."""
    if span.sources[0].kind is not ValueKind.TOKEN or not kept_runs:
        return False
    first = len(words_of(text[: span.start]))
    end = first + len(words_of(text[span.start : span.end]))
    return any(run in kept_runs for run in islice(_runs(text), max(0, end - SHINGLE), first + 1))


class _Piece(NamedTuple):
    """A part of a text, and what replaces it. `kind`: that of the value that it is."""

    text: str
    new: str | None = None
    kind: ValueKind | None = None

    @property
    def result(self) -> str:
        return self.text if self.new is None else self.new


def _between_values(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield the parts of a text before, between and after whole values: these are replaced with all of their words."""
    part: list[_Piece] = []
    for piece in pieces:
        if piece.kind in (None, ValueKind.TOKEN):
            part.append(piece)
        else:
            yield part
            part = []
    yield part


def _quoted_runs(pieces: Sequence[_Piece], old_runs: AbstractSet[tuple[str, ...]]) -> set[tuple[str, ...]] | None:
    """What becomes of the phrases that a text shares with an output; None if that is unknown."""
    runs = list(_runs("".join(piece.text for piece in pieces)))
    quotations = [index for index, run in enumerate(runs) if run in old_runs]
    new_runs = list(_runs("".join(piece.result for piece in pieces)))
    if quotations and len(new_runs) != len(runs):
        return None
    return {new_runs[index] for index in quotations}


def _runs_in(output: JSONValue) -> set[tuple[str, ...]]:
    return {run for text in texts_in(output) for run in _runs(text)}


def _replacement(old_text: str, span: Span, change: Change) -> str | None:
    """New value of a span; all of its sources are places of one output."""
    source = span.sources[0]
    try:
        value = resolve_pointer(change.current, source.path)
    except LookupError:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    new = value.strip() if isinstance(value, str) else str(value)
    if source.kind is ValueKind.TOKEN:
        before = str(resolve_pointer(change.original, source.path))
        return _format_like(old_text, source.text, _same_token(source.text, before, new))
    if not span.key:
        # The old value was cut at this length.
        return new[: len(old_text)]
    return _format_like(old_text, source.text, new)


def _format_like(old_text: str, old: str, new: str | None) -> str | None:
    """Apply the old value's formatting (case, separators) to the new one."""
    if new is None or old == new:
        return None if new is None else old_text
    for case in _CASES:
        for separator in _SEPARATORS:
            if _with_separator(case(old), separator) == old_text:
                return _with_separator(case(new), separator)
    return None


def _with_separator(text: str, separator: str) -> str:
    return _SEPARATOR.sub(separator, text) if separator else text


def _same_token(token: str, before: str, after: str) -> str | None:
    """Token of the new text that replaces an old one: the only token of the same shape.

    A token stays if it has the same place among those of its shape. With others beside it, code may choose another one.
    """
    old, new = ([item for item in tokens_of(text) if _shape(item) == _shape(token)] for text in (before, after))
    if token in new:
        return token if len(old) == len(new) and old.index(token) == new.index(token) else None
    old, new = [item for item in old if item not in new], [item for item in new if item not in old]
    return new[0] if len(old) == len(new) == 1 else None


def _shape(token: str) -> str:
    """Letters and digits by kind, whatever their number: ``TCK-20931`` is ``A-9``."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "A", token))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = words_of(text)
    return zip(*(words[start:] for start in range(SHINGLE)), strict=False)
